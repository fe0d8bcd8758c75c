"""Published statements about masks, with the evidence for or against them: `seqsweep claims mask`.

The pull request does not name its TPU, so compiling for tpu:v5p counts as another target. Its shape is b · t
· s of one device: s and k are printed, and 274 billion / (2048 · 131072) leaves about 1024 for b · t.
"""

from harness.claims import Claim, Figure, Ki, Source, number

MAXTEXT_4261 = Source(
    "MaxText #4261, description",
    "https://github.com/AI-Hypercomputer/maxtext/pull/4261",
    of="MaxText #4261",
    version="8d32e21",
    stored="000",
)
MAXTEXT_4437 = Source(
    "MaxText #4437, tests/unit/attention_test.py",
    "https://github.com/AI-Hypercomputer/maxtext/pull/4437",
    version="ca6c82b11",
)

SHAPE = {"batch": 1, "rows": Ki, "topk": 2 * Ki, "seq": 128 * Ki}
TESTED = {"batch": 2, "rows": 128, "topk": 64, "seq": Ki}
V5P, V6E, V7X = "tpu:v5p", "tpu:v6e", "tpu:7x"
UNSTATED = "TPU, not stated which"
PRINTED_274 = (0.005, "printed as ~274")


@Claim("reproduced", MAXTEXT_4261["30"], on="any", **SHAPE)
def elements(e):
    """The broadcast compares 274 billion elements, about 256 GB as one-byte predicates

    Batch, rows, selection and length multiply to this number, and the compiled program does one comparison
    and one OR for each. Whether they are all stored at once is the claim intermediate.
    """
    # The compiler counts a comparison and an OR for each element
    follows = e.batch * e.rows * e.topk * e.seq / 1e9
    found = e.flops("broadcast", V5P) / 2 / 1e9
    within = PRINTED_274
    yield Figure("elements compared", "billion", published=274, follows=follows, found=found, within=within)
    follows = e.batch * e.rows * e.topk * e.seq
    yield Figure("as predicates, GB read as GiB", "B", published="256Gi", follows=follows)


@Claim("reproduced", MAXTEXT_4261["30,74-76"], on="CPU", target="host", **SHAPE)
def intermediate(e):
    """Held in memory, the comparison is an intermediate of about 256 GB

    XLA on a CPU allocates the whole comparison; for a TPU it does not, see fused-away.
    """
    found = e.temp_bytes("broadcast", "host")
    within = (0.05, "printed as ~256; other buffers lie beside it")
    yield Figure("temp on the host, GB read as GiB", "B", published="256Gi", found=found, within=within)
    yield Figure("temp of the scatter on the host", "B", found=e.temp_bytes("scatter", "host"))


@Claim("reproduced on another target", MAXTEXT_4261["30,77-78"], on=UNSTATED, **SHAPE)
def fused_away(e):
    """On a TPU the compiler fuses the broadcast, so that the 256 GB never exist

    Apart from the indices and the mask, the plan has only one predicate of one byte per column of the mask.
    """
    for target, name in ((V5P, "less than 1 GiB of temp on"), (V6E, "and on"), (V7X, "and on")):
        yield Figure(f"{name} {target}", holds=e.temp_bytes("broadcast", target) < number("1Gi"))
    yield Figure("temp on tpu:v5p", "B", found=e.temp_bytes("broadcast", V5P))
    yield Figure("a predicate of one byte a column", "B", found=e.batch * e.rows * e.seq)


@Claim("reproduced", MAXTEXT_4261["71-72,74-77"], on="CPU, memory not stated", target="host", **SHAPE)
def out_of_memory(e):
    """On a CPU the broadcast runs out of memory at once, which the scatter prevents

    The length at which it ran out is not stated; at 128K the broadcast needs more memory than nearly every
    machine has.
    """
    holds = e.planned_bytes("broadcast", "host") > number("256Gi")
    yield Figure("the broadcast plans more than 256 GiB", holds=holds)
    holds = e.planned_bytes("scatter", "host") < number("1Gi")
    yield Figure("the scatter plans less than 1 GiB", holds=holds)
    yield Figure("planned for the broadcast", "B", found=e.planned_bytes("broadcast", "host"))
    yield Figure("planned for the scatter", "B", found=e.planned_bytes("scatter", "host"))


@Claim("reproduced on another target", MAXTEXT_4261["30"], on=UNSTATED, **SHAPE)
def traffic(e):
    """The fused loop of the broadcast moves about 142 MB through a TPU's memory

    The loop reads four-byte indices and writes a one-byte predicate, 142 606 336 bytes. Compiled by itself,
    the program then reads the predicate again and writes the mask. In a model that second step may be fused
    into the following operation.
    """
    # All of the program's traffic except the step that reads the predicate (temp) and writes the mask
    # (output)
    found = (
        e.bytes_accessed("broadcast", V5P) - e.temp_bytes("broadcast", V5P) - e.output_bytes("broadcast", V5P)
    ) / 1e6
    follows = (e.batch * e.rows * e.topk * 4 + e.batch * e.rows * e.seq) / 1e6
    within = (0.01, "printed as ~142")
    yield Figure("the fused loop", "MB", published=142, follows=follows, found=found, within=within)
    found = e.argument_bytes("broadcast", V5P) + e.temp_bytes("broadcast", V5P)
    follows = e.batch * e.rows * e.seq * 1 + e.batch * e.rows * e.topk * 4
    yield Figure("predicate written, indices read", "bytes", follows=follows, found=found)
    yield Figure("the whole program with an f32 mask", "MB", found=e.bytes_accessed("broadcast", V5P) / 1e6)
    found = e.bytes_accessed("broadcast", V5P, dtype="bf16") / 1e6
    yield Figure("the whole program with a bf16 mask", "MB", found=found)


@Claim("reproduced", MAXTEXT_4261["30"], on="any", **SHAPE)
def broadcast_complexity(e):
    """The work of the broadcast grows with the product of batch, rows, selection and length

    Doubling any of the four factors exactly doubles the compiled work.
    """
    for name, more in (
        ("with twice the selection", {"topk": 4 * Ki}),
        ("at twice the length", {"seq": 256 * Ki}),
        ("with twice the rows", {"rows": 2 * Ki}),
        ("with twice the batch", {"batch": 2}),
    ):
        found = e.flops("broadcast", "host", **more) / e.flops("broadcast", "host")
        yield Figure(f"FLOPs {name}", "×", follows=2, found=found)


@Claim("reproduced", MAXTEXT_4261["32"], on="any", **SHAPE)
def scatter_complexity(e):
    """The scatter fills the mask in O(b·t·s) and writes in O(b·t·k), with k far below s (2,048 against
    131,072)

    The length decides the bytes and the selection the operations, and they do not multiply each other. A
    TPU's compiler sorts the indices first, so the second term has an additional logarithm.
    """

    def more(figure, **shape):
        ask = getattr(e, figure)
        return ask("scatter", V5P, **shape) / ask("scatter", V5P)

    yield Figure("FLOPs at twice the length", "×", follows=1, found=more("flops", seq=256 * Ki))
    found, within = more("flops", topk=4 * Ki), (0.05, "sorted first, which adds a logarithm")
    yield Figure("FLOPs with twice the selection", "×", follows=2, found=found, within=within)
    found, within = more("bytes_accessed", seq=256 * Ki), (0.1, "the bytes of the indices stay")
    yield Figure("bytes at twice the length", "×", follows=2, found=found, within=within)
    yield Figure("bytes with twice the selection", "×", found=more("bytes_accessed", topk=4 * Ki))
    yield Figure("share of the columns that is selected", "%", follows=number(100) * 2048 / 131072)


@Claim("reproduced", MAXTEXT_4261["32,82-83"], on="any", **SHAPE)
def scatter_operations(e):
    """The scatter reduces complexity and instruction count, as it writes directly and does not compare all
    elements

    For a v5p the compiler counts 0.02 % of the broadcast's operations. The following is our remark and was
    not claimed: compiled for a TPU the scatter sorts its indices, plans four times the temporaries and moves
    twice the bytes. No time was published for it.
    """

    def beside(figure, target=V5P):
        ask = getattr(e, figure)
        return ask("scatter", target), ask("broadcast", target)

    for target in ("host", V5P):
        scatter, broadcast = beside("flops", target)
        yield Figure(f"fewer FLOPs than the broadcast on {target}", holds=scatter < broadcast)
    scatter, broadcast = beside("flops")
    yield Figure("FLOPs on tpu:v5p, scatter over broadcast", "%", found=100 * scatter / broadcast)
    for figure, name in (("temp_bytes", "temp"), ("bytes_accessed", "traffic")):
        scatter, broadcast = beside(figure)
        yield Figure(f"{name} on tpu:v5p, scatter over broadcast", "×", found=scatter / broadcast)


@Claim("reproduced on another target", MAXTEXT_4261["30,78-79"], on=UNSTATED, **SHAPE)
def compute_bound(e):
    """On a TPU the fused broadcast is bound by comparisons in the vector units and not by memory

    Even with one vector operation per element, and with the mask's own bytes counted as traffic, the
    comparisons take 65 times as long.
    """
    holds = e.flops("broadcast", V5P) / 2 / e.vector_ops(V5P) > e.bytes_accessed(
        "broadcast", V5P
    ) / e.bandwidth(V5P)
    yield Figure("the comparisons take longer than the traffic on a v5p", holds=holds)
    found = 1000 * e.flops("broadcast", V5P) / 2 / e.vector_ops(V5P)
    yield Figure("least time of one operation an element", "ms", found=found)
    found = 1000 * e.bytes_accessed("broadcast", V5P) / e.bandwidth(V5P)
    yield Figure("least time of the whole program's traffic", "ms", found=found)


@Claim(
    "adds up",
    MAXTEXT_4261["30"],
    on=UNSTATED,
    needs="the time, on the TPU that was meant",
    **SHAPE,
)
def step_time(e):
    """The 274 billion comparisons take about 153 ms per step on a TPU

    As the time of one call it is possible: comparisons would use an eighth of a v5p's vector operations. As
    the time of a step with 58 layers, the number that #4243 gives, it would need seven times a v5p.
    """
    follows = e.batch * e.rows * e.topk * e.seq / 1e9
    yield Figure("comparisons of one call", "billion", published=274, follows=follows, within=PRINTED_274)
    a_second = number(274e9) / (number(153) / 1000)
    at_most = e.vector_ops(V5P) / 1e12
    yield Figure("comparisons a second, in one call", "T/s", follows=a_second / 1e12, at_most=at_most)
    share = 100 * a_second / e.vector_ops(V5P)
    yield Figure("share of a v5p's vector units", "%", found=share)
    yield Figure("the same, with a call in each of 58 layers", "%", found=58 * share)


@Claim("reproduced", MAXTEXT_4261["40-42,84-86"], on="any", **TESTED)
def scatter_equals_broadcast(e):
    """The scatter gives the same mask as the broadcast; their test passed with an exact match within 1e-5

    Both open the selected columns, bit for bit. They differ only for a negative index, which no top-k
    returns.
    """
    yield Figure("scatter against its contract (exact)", published="ok", found=e.status("scatter"))
    yield Figure("broadcast against its contract (exact)", published="ok", found=e.status("broadcast"))
    yield Figure("scatter with a column selected twice", holds=e.check("mask/duplicates", "scatter"))
    yield Figure("scatter with indices in any order", holds=e.check("mask/order_of_indices", "scatter"))


@Claim("reproduced", MAXTEXT_4437, on="any", **TESTED)
def threshold_equals_broadcast(e):
    """A threshold with exact k gives the broadcast's mask, shown to 1e-5 on scores made unique

    This followed #4261, and makes the same mask.
    """
    found = e.status("threshold_exactk")
    yield Figure("exact-k threshold against its contract (exact)", published="ok", found=found)
    yield Figure("exact-k threshold keeps exactly k", holds=e.check("mask/kept_count", "threshold_exactk"))
