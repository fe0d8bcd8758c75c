"""Published statements about top-k, with the evidence for or against them: `seqsweep claims topk`.

The pull request does not name the TPU it was measured on, so compiling for tpu:v5p counts as another target.
The only selection that it prints is the 64 of a test; 2048 is index_topk of the model's config
(DeepSeek-V3.2). FLOPs of a sort are the compiler's count, elements times log2 of all elements; it counts none
for PartialReduce.
"""

from harness.claims import Claim, Figure, Ki, Source, ceil, every, floor, log, log2, number

MAXTEXT_4243 = Source(
    "MaxText #4243, description and review",
    "https://github.com/AI-Hypercomputer/maxtext/pull/4243",
    of="MaxText #4243",
    version="76dae1b",
    stored="001",
)
XLA_FALLBACK = Source("XLA, ApproxTopKFallback in approx_topk.cc", "https://github.com/openxla/xla")
TWO_STAGE = Source(
    "A Faster Generalized Two-Stage Approximate Top-K, abstract",
    "https://arxiv.org/abs/2506.04165",
    version="2506.04165",
)
SGLANG_JAX_1642 = Source(
    "sglang-jax #1642, description", "https://github.com/sgl-project/sglang-jax/pull/1642"
)
SGLANG_JAX_1607 = Source(
    "sglang-jax #1607, comment of 2026-09-13", "https://github.com/sgl-project/sglang-jax/pull/1607"
)
SGLANG_37591 = Source("sglang #37591, description", "https://github.com/sgl-project/sglang/pull/37591")
INDEXER_7X = SGLANG_JAX_1642.table("""
    queries  total  scores  sort  share
    64       7.50   3.3     3.6   56
    2048     123.9  18.9    92.4  84
""")

SHAPE = {"batch": 1, "rows": Ki, "seq": 128 * Ki, "topk": 2 * Ki, "recall": 0.95}
V5P, V7X = "tpu:v5p", "tpu:7x"
TPUS = ("tpu:v4", "tpu:v5e", V5P, "tpu:v6e", V7X)
UNSTATED = "TPU, not stated which"
FIGURES = {"flops": "FLOPs", "bytes_accessed": "bytes"}


def exact_over_approximate(e, figure, target=V5P, **shape):
    ask = getattr(e, figure)
    return ask("exact", target, **shape) / ask("approx", target, **shape)


def another_program(e, target=V5P):
    """Whether the operator approximates, and so differs from the program for recall 1."""
    return e.program("approx", target) != e.program("approx", target, recall=1.0)


def partial_reduce(e, target=V5P, **shape):
    return e.calls("approx", target, "PartialReduce", **shape)


@Claim(
    "contradicted",
    MAXTEXT_4243["51-52"],
    on=UNSTATED,
    target=TPUS,
    **SHAPE,
)
def matrix_units(e):
    """approx_max_k is a block reduction optimised for the matrix units (MXU) of TPUs

    The compiled program is one sort and one PartialReduce, and the only computation in this call is a
    comparison. In the nearest-neighbour search of the cited paper the matrix units compute the distances, a
    product that this operator does not include.
    """
    # A TPU's compiler writes matrix products as convolutions; either opcode is work for the matrix units
    found = [e.ops("approx", target, opcode) for target in TPUS for opcode in ("convolution", "dot")]
    yield Figure("work for the matrix units, on any of five TPUs", holds=sum(found[1:], found[0]) > 0)
    yield Figure("sorts on tpu:v5p", found=e.ops("approx", V5P, "sort"))
    found = e.ops("approx", V5P, "compare")
    yield Figure("comparisons on tpu:v5p, one for PartialReduce and one for the sort", found=found)
    yield Figure("holds PartialReduce on tpu:v5p", found=partial_reduce(e))


@Claim(
    "not checkable here",
    MAXTEXT_4243["49,52-53"],
    on=UNSTATED,
    batch=1,
    rows=Ki,
    seq=64 * Ki,
    topk=2 * Ki,
    recall=0.95,
)
def four_times(e):
    """approx_max_k is about four times as fast as lax.top_k on f32[1, 1024, 65536] at recall 0.95, on a TPU

    Neither the selection nor the TPU behind the number is stated, and a time needs the TPU. A selection of
    512 would fit it by FLOPs (4.33), less by bytes (2.43). At 2048, the model's own, nothing is approximated
    at this length, and at 131072 the factors are 2.08 and 1.37. Equal FLOPs and bytes do not mean equal
    times: see tpu7x-operators
    """
    yield Figure("speedup", "×", published=4)
    found = 1 + floor(e.seq / 2 * -log(e.recall))
    yield Figure("largest selection that is approximated at this length", found=found)
    for topk in (512, 2048):
        for figure, name in FIGURES.items():
            found = exact_over_approximate(e, figure, topk=topk)
            yield Figure(f"selection {topk}: {name}, exact over approximate", "×", found=found)
    found = another_program(e)
    yield Figure("selection 2048: approximates (another program than recall 1)", found=found)
    for figure, name in FIGURES.items():
        found = exact_over_approximate(e, figure, seq=128 * Ki)
        yield Figure(f"selection 2048 at 128K: {name}, exact over approximate", "×", found=found)


@Claim(
    "reproduced",
    MAXTEXT_4243["48-49"],
    on="any",
    batch=1,
    rows=128 * Ki,
    seq=128 * Ki,
    topk=2 * Ki,
    recall=0.95,
    dtype="bf16",
    stage="indexer",
    devices=128,
)
def context_shape(e):
    """A context of 128K over 128 devices gives each device scores of [1, 1024, 131072]

    The indexer, compiled for 128 chips with its rows split over them, returns selections of 1024 rows on
    each.
    """
    yield Figure("columns", published=131_072, follows=number(128) * 1024)
    # The program returns the selected scores and indices of each row, four bytes each
    found = floor(e.output_bytes("indexer_exact", "tpu:v5p:4x4x8") / (e.topk * 8))
    yield Figure("rows on each device", published=1024, follows=e.seq / 128, found=found)


@Claim("reproduced on another target", MAXTEXT_4243["48-52"], on=UNSTATED, **SHAPE)
def production_shape(e):
    """On scores of [1, 1024, 131072], where the exact selection is the bottleneck, the approximate path is
    the cheaper one

    With the model's selection of 2048, half of each row remains to be sorted, so the compiled program has
    2.08 times fewer FLOPs and 1.37 times fewer bytes. No factor was published for this shape.
    """
    yield Figure("approximates (holds PartialReduce)", holds=partial_reduce(e))
    yield Figure("another program than recall 1", holds=another_program(e))
    yield Figure("fewer FLOPs than the exact one", holds=exact_over_approximate(e, "flops") > 1)
    yield Figure("fewer bytes than the exact one", holds=exact_over_approximate(e, "bytes_accessed") > 1)
    for figure, name in FIGURES.items():
        yield Figure(f"{name}, exact over approximate", "×", found=exact_over_approximate(e, figure))


@Claim("adds up", MAXTEXT_4243["49"], on="any")
def layers(e):
    """The indexer's scores are sorted in 58 layers

    58 are the layers with experts. In the model's reference code the attention of all 61 layers has an
    indexer, so a whole forward would sort in 61.
    """
    # DeepSeek-V3.2: num_hidden_layers 61, first_k_dense_replace 3
    yield Figure("layers of the model less its dense ones", published=58, found=number(61) - 3)
    yield Figure("layers whose attention has an indexer in the model's reference code", found=61)


@Claim("reproduced on another target", MAXTEXT_4243["51-52"], on=UNSTATED, **SHAPE)
def complexity(e):
    """Approximation turns O(N log² N) into about O(N + K log K), with a much smaller constant

    A longer row is read once more, and leaves the same number of candidates to sort. The compiler's count of
    a sort has one logarithm and cannot distinguish log N from log² N. K log K hides a constant: 32 candidates
    for each of 2048, here half of the row.
    """

    def candidates(seq):
        """XLA plans at least (k - 1) / -ln(recall) groups, each a power of two; in multiples of 128."""
        groups = floor((1 - e.topk) / log(e.recall))
        return ceil(ceil(seq / 128) / 2 ** floor(log2(seq / groups))) * 128

    exact, approximate = (
        e.exponent("flops", label, V5P, 128 * Ki, 512 * Ki) for label in ("exact", "approx")
    )
    yield Figure("exact: FLOPs grow faster than the row", holds=exact > 1)
    name = "approximate: growth of the FLOPs, which are the second stage's sort, with the row"
    yield Figure(name, follows=0, found=approximate)
    name = "approximate: bytes that a row twice as long adds, over its new scores read once"
    added = e.bytes_accessed("approx", V5P, seq=256 * Ki) - e.bytes_accessed("approx", V5P)
    found, within = added / (e.batch * e.rows * e.seq * 4), (0.01, "block sizes")
    yield Figure(name, "×", follows=1, found=found, within=within)
    yield Figure("exact: growth exponent of FLOPs", found=exact)
    yield Figure("candidates that the second stage sorts", found=candidates(e.seq))
    found = candidates(2 * e.seq) / candidates(e.seq)
    yield Figure("candidates of a row twice as long, over those of this one", "×", found=found)
    yield Figure("candidates over the selection", "×", found=candidates(e.seq) / e.topk)
    yield Figure("candidates over the row", "×", found=candidates(e.seq) / e.seq)


@Claim(
    "vacuous",
    MAXTEXT_4243["18-23,60-62"],
    on="any",
    headline=(
        "The test of the recall of approx_max_k runs the very program of recall 1, on "
        "TPUs as elsewhere, so it shows nothing of that recall (MaxText #4243)."
    ),
    batch=4,
    rows=16,
    seq=Ki,
    topk=64,
    recall=0.95,
)
def recall_test(e):
    """A unit test on scores of [4, 16, 1024] with K = 64 shows that the approximate selection reaches its
    recall

    The test passes. But 64 at recall 0.95 need 1228 groups, more than the row has scores, so all 1024 are
    sorted and the recall is 1 by construction. On rows of 4096 the same test would approximate.
    """
    yield Figure("the selection reaches 0.95 (its contract)", published="ok", found=e.status("approx"))
    holds = another_program(e)
    name = "what is tested approximates (another program than recall 1), on tpu:v5p"
    yield Figure(name, holds=holds, premise=True)
    yield Figure("and on tpu:7x", holds=another_program(e, V7X), premise=True)
    yield Figure("and on the host", holds=another_program(e, "host"), premise=True)
    yield Figure("it holds PartialReduce, on tpu:v5p", holds=partial_reduce(e), premise=True)
    yield Figure("groups that a recall of 0.95 takes for 64", found=floor((1 - e.topk) / log(e.recall)))
    yield Figure("candidates kept of 1024", found=e.fact("approx", "candidates"))
    yield Figure("it would hold PartialReduce on rows of 4096", found=partial_reduce(e, seq=4 * Ki))


@Claim("vacuous", MAXTEXT_4243["59-60"], on="any", batch=1, rows=32, seq=32, topk=4, recall=0.95)
def compile_test(e):
    """A unit test verifies that the new path compiles and traces

    The call traces and compiles, as claimed. But with the 4 of 32 scores in the test's file nothing is
    approximated, so the part that could fail to compile is missing. That part does compile: see
    production-shape.
    """
    yield Figure("it compiles and runs on the host", published="ok", found=e.status("approx"))
    yield Figure("it compiles for tpu:v5p", holds=e.output_bytes("approx", V5P) > 0)
    holds = partial_reduce(e)
    name = "the part that only the new path has is compiled (PartialReduce, on tpu:v5p)"
    yield Figure(name, holds=holds, premise=True)
    yield Figure("another program than that of recall 1, on tpu:v5p", holds=another_program(e), premise=True)


# The plan for 2048 of 131072 at a sixteenth: the better of every two scores; 4096 candidates for 128 of
# 8192
@Claim(
    "adds up",
    MAXTEXT_4243["55"],
    on="any",
    needs="the loss of a trained model",
    batch=1,
    rows=16,
    seq=8 * Ki,
    topk=128,
    recall=0.95,
)
def model_quality(e):
    """The effect on a model is expected to be minimal when the recall is high

    If large scores are at random places, softmax over the selection keeps at least the share that the recall
    promises, in a two-stage selection with the operator's plan. Our remark: for scores whose period fits the
    groups of this emulation it misses 0.95.
    """
    holds = e.check("topk/attention_mass_recall", "two_stage[buckets=4096,keep=1]")
    yield Figure("attention mass kept reaches 0.95, normal scores", holds=holds)
    holds = e.check("topk/attention_mass_recall", "two_stage[buckets=4096,keep=1]", distribution="clustered")
    yield Figure("attention mass kept reaches 0.95, clustered scores at random places", holds=holds)
    found = e.status("two_stage[buckets=4096,keep=1]")
    yield Figure("mean recall of 0.95 by its contract, normal scores", found=found)
    found = e.status("two_stage[buckets=4096,keep=1]", distribution="periodic")
    yield Figure("the same, scores with a period", found=found)


@Claim("reproduced", XLA_FALLBACK, on="any", batch=1, rows=128, seq=64 * Ki, topk=2 * Ki, recall=0.95)
def fallback(e):
    """Away from TPUs the operator is exact, whatever recall is asked for

    On a CPU and a GPU one program serves every recall, so a recall measured there says nothing about a TPU.
    """
    holds = e.program("approx", "host", recall=0.95) == e.program("approx", "host", recall=0.8)
    yield Figure("recall 0.95 and 0.8 are one program on the host", holds=holds)
    holds = every(e.calls("approx", "host", "TopK"), e.calls("exact", "host", "TopK"))
    yield Figure("it holds the exact operator's call", holds=holds)
    yield Figure("it holds PartialReduce", published=False, found=partial_reduce(e, "host"))
    holds = e.program("approx", "cuda:h200", recall=0.95) == e.program("approx", "cuda:h200", recall=0.8)
    yield Figure("recall 0.95 and 0.8 are one program for cuda:h200", holds=holds)
    found = partial_reduce(e, "cuda:h200")
    yield Figure("it holds PartialReduce, for cuda:h200", published=False, found=found)


@Claim("adds up", TWO_STAGE, on="any", seq=128 * Ki, topk=2 * Ki, recall=0.95)
def tighter_bound(e):
    """The exact expectation of the recall is tighter than the bound that XLA plans with by a factor of two

    For 2048 of 131072 at recall 0.95 the bound gives twice the expected loss for random places.
    """
    found = (1 - (1 - 1 / floor((1 - e.topk) / log(e.recall))) ** (e.topk - 1)) / (
        1
        - floor((1 - e.topk) / log(e.recall))
        / e.topk
        * (1 - (1 - 1 / floor((1 - e.topk) / log(e.recall))) ** e.topk)
    )
    within = (0.05, "two in the limit of many groups")
    name = "loss bounded over loss expected, in as many groups as XLA asks for"
    yield Figure(name, "×", published=2, found=found, within=within)


@Claim("not checkable here", TWO_STAGE, on="TPU v5e")
def generalised_two_stage(e):
    """With several candidates a group the two-stage algorithm is about ten times as fast as the original

    A time on a TPU needs that TPU, and the abstract states no shape
    """


@Claim(
    "adds up",
    SGLANG_JAX_1607,
    SGLANG_JAX_1642,
    on="TPU7x",
    target="tpu:7x",
    needs="the times, on a TPU7x",
    rows=64,
    seq=256 * Ki,
    topk=512,
    recall=1.0,
)
def tpu7x_operators(e):
    """On a TPU7x, 512 of 262144 take 6.5 ms with lax.top_k, 4.1 ms with approx_max_k at recall 1, which is a
    full sort without PartialReduce, and 0.86 ms with a radix select on the SparseCore

    At recall 1 it is a sort of the whole row. Both operators have the same FLOPs and bytes, but times that
    differ by a half, so neither figure predicts a time. The number of rows is not stated; 64 are compiled
    here.
    """
    yield Figure("lax.top_k", "ms", published=6.5)
    yield Figure("approx_max_k at recall 1", "ms", published=4.1)
    yield Figure("radix select", "ms", published=0.86)
    found = partial_reduce(e, V7X)
    yield Figure("approx_max_k at recall 1 holds PartialReduce", published=False, found=found)
    yield Figure("sorts in approx_max_k at recall 1", found=e.ops("approx", "tpu:7x", "sort"))
    yield Figure("FLOPs, lax.top_k over approx_max_k", "×", found=exact_over_approximate(e, "flops", V7X))
    found = exact_over_approximate(e, "bytes_accessed", V7X)
    yield Figure("bytes, lax.top_k over approx_max_k", "×", found=found)


@Claim(
    "adds up",
    SGLANG_JAX_1642,
    on="TPU7x",
    table=INDEXER_7X,
    needs="the times, on a TPU7x",
    seq=256 * Ki,
    topk=512,
)
def tpu7x_indexer(e):
    """On a TPU7x the indexer takes 7.50 ms for 64 decoded sequences and 123.9 ms for 2048 prefilled tokens;
    selection, all but the scores, is 56 % and 84 % of them, and a radix select saves 43 % and 66 %

    The shares follow from the times. With its copies the decode's parts add up to 8.6 ms of 7.50, so some
    copies must overlap the rest.
    """
    for queries, share, total, scores in e.each("share", "total", "scores"):
        follows = 100 * (total - scores) / total
        within = (0.01, "printed without decimals")
        name = "share of the selection"
        yield Figure(name, "%", published=share, follows=follows, within=within, row=queries)
    for queries, scores, sort, total in e.each("scores", "sort", "total"):
        yield Figure("scores and sort together", "ms", follows=scores + sort, at_most=total, row=queries)
    yield Figure("copies in the decode", "ms", published=1.7)
    follows = e["64"].scores + e["64"].sort + 1.7
    yield Figure("scores, sort and copies of the decode, beside its 7.50", "ms", follows=follows)
    at_most = e["64"].total - e["64"].scores
    follows = 0.43 * e["64"].total
    yield Figure("time saved in the decode, of all but the scores", "ms", follows=follows, at_most=at_most)
    at_most = e["2048"].total - e["2048"].scores
    follows = 0.66 * e["2048"].total
    yield Figure("time saved in the prefill, of all but the scores", "ms", follows=follows, at_most=at_most)


@Claim(
    "not checkable here",
    SGLANG_37591,
    on="AMD GPU, not stated which",
    batch=1,
    rows=16,
    seq=4 * Ki,
    topk=128,
    distribution="narrow",
)
def f16_keys(e):
    """On ROCm a coarse radix select on fp16 keys kept as little as 0.53 of the selected value on captured
    GLM-5.2 logits

    The logits were not published, and the loss came from a candidate buffer that overflowed, which
    topk/radix_f16 does not have. Our implementation fails for another reason: it cannot distinguish scores
    that round to one key
    """
    yield Figure("least recall of the selected value", published=0.53)
    yield Figure("f16 keys where scores lie closer than f16 can tell", found=e.status("radix_f16"))
