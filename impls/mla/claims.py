"""Published statements about multi-head latent attention, with the evidence for or against them.

Run `seqsweep claims mla` to check them. DeepSeek-V3 #684 (commits cc66d60 and 79d72ec, open) states neither
widths, heads nor dtype. Its "before" is one of two paths of DeepSeek-V3's inference/model.py, naive or
absorb; absorb is the default. mla/claimed_fast_path is the code of its commits, mla/as_printed the lines in
its description, and mla/fast_path its description implemented for this project. No number was published for
convergence, distributed training or score distributions, so they are not claims.
"""

from itertools import product

from harness.claims import Claim, Figure, Ki, Source, every, log, number

DEEPSEEK_684 = Source(
    "DeepSeek-V3 #684, description and review",
    "https://github.com/deepseek-ai/DeepSeek-V3/pull/684",
    of="DeepSeek-V3 #684",
    version="79d72ec",
    stored="003",
)
DEEPSEEK_MODEL = Source(
    "DeepSeek-V3, inference/model.py",
    "https://github.com/deepseek-ai/DeepSeek-V3/blob/9b4e978/inference/model.py",
    version="9b4e978",
)
SGLANG_11892 = Source(
    "sglang #11892, description, for DeepSeek-V3.2", "https://github.com/sgl-project/sglang/pull/11892"
)
SGLANG_9295 = Source("sglang #9295", "https://github.com/sgl-project/sglang/pull/9295")
VLLM_47327 = Source("vLLM #47327, description", "https://github.com/vllm-project/vllm/pull/47327")
A100 = DEEPSEEK_684["40-45"].table("""
    n    original  optimised  printed
    64   0.42      0.31       1.35
    128  0.89      0.65       1.37
    256  1.82      1.31       1.39
    512  3.75      3.75       1.00
""")
A100_SAVED = DEEPSEEK_684["46-50"].table("""
    in % of the original's memory
    n    saved
    64   15
    128  18
    256  20
    512  no change
""")

SHORT = {"batch": 1, "seq": 64, "causal": False}
TIMED = {"batch": 32, "causal": False, "dtype": "bf16"}
COMMITTED, DESCRIBED, PRINTED = "claimed_fast_path", "fast_path", "as_printed"
BEFORE = "as_printed[lines=before]"


@Claim(
    "adds up",
    DEEPSEEK_684["39-45"],
    on="A100",
    table=A100,
    target="cuda:a100",
    needs="the times, and the widths and dtype that are not stated, on an A100",
    **TIMED,
)
def a100_times(e):
    """On an A100 at batch 32 the optimised attention is 1.35, 1.37 and 1.39 times as fast at 64, 128 and 256
    tokens, and as fast as before at 512

    At upstream's default widths the times are 133 to 189 TFLOP/s, which an A100 reaches only in half
    precision (312): up to 256 tokens the optimised ones exceed TF32 (156), and all exceed f32 (19.5). The
    671B model's widths would need 1 770 to 2 507 TFLOP/s, so they were not used. The naive and the described
    path take the same FLOPs, so arithmetic explains no gain.
    """
    for n, printed, original, optimised in e.each("printed", "original", "optimised"):
        follows = original / optimised
        within = (0.005, "printed with two decimals")
        yield Figure("printed speedup", "×", published=printed, follows=follows, within=within, row=n)
    for n, original in e.each("original"):
        found = e.cost_flops("naive", seq=n) / original / 1e9
        at_most = e.peak("cuda:a100") / 1e12
        name = "rate of the original at upstream's default widths"
        yield Figure(name, "TFLOP/s", found=found, at_most=at_most, row=n)
    for n, optimised in e.each("optimised"):
        found = e.cost_flops("naive", seq=n) / optimised / 1e9
        at_most = e.peak("cuda:a100") / 1e12
        yield Figure("rate of the optimised one", "TFLOP/s", found=found, at_most=at_most, row=n)
    found = e.cost_flops("naive", seq=512, config="v3") / 3.75 / 1e9
    name = "rate of the optimised one at 512 tokens, had it the 671B model's widths"
    yield Figure(name, "TFLOP/s", found=found)


@Claim("not checkable here", DEEPSEEK_684["46-50"], on="A100", table=A100_SAVED, target="cuda:a100", **TIMED)
def a100_memory(e):
    """The optimised attention takes about 15, 18 and 20 % less memory at 64, 128 and 256 tokens, and no less
    from 512 on

    Widths, dtype, which of upstream's two paths was the original, and what was counted as memory are not
    stated; at upstream's default widths a trace gives −1 to 39 %, depending on these
    """
    for n, saved in e.each("saved"):
        yield Figure("published", "%", published=saved, row=n)
    # Temporaries of the path as described, against those of upstream's two paths
    for path, dtype, seq in product(("naive", "absorb"), ("bf16", "f32"), (64, 256)):
        described, before = (e.trace_bytes(label, seq=seq, dtype=dtype) for label in (DESCRIBED, path))
        yield Figure(f"against {path}, {dtype}, {seq} tokens", "%", found=100 * (1 - described / before))


@Claim(
    "contradicted",
    DEEPSEEK_684["3,53"],
    on="any",
    headline=(
        "The fast path that DeepSeek-V3 #684 commits does not compute the attention it "
        "replaces; its scores leave out all but the rotated part of queries and keys."
    ),
    **SHORT,
)
def fast_path_equal(e):
    """The fast path gives what the original implementation gives

    As committed, projections are split in another order, and scores keep only the rotated part of queries and
    keys. The commits are judged, with the changes needed to run them. With the order and the content kept,
    mla/fast_path does equal the reference.
    """
    yield Figure("the commits' answers equal the reference's", holds=e.status(COMMITTED) == "ok")
    yield Figure("the path as described does", holds=e.status(DESCRIBED) == "ok")
    found = e.check("mla/content_matters", COMMITTED)
    yield Figure("in the commits content has a say in the scores", found=found)


@Claim("contradicted", DEEPSEEK_684["68,70"], on="any", batch=1, seq=1)
def backward_compatible(e):
    """The change is fully backward compatible, checkpoints included

    A single token attends only to itself, so its answer shows only the projections: the commits split them in
    another order than checkpoints have them. Loading a checkpoint does not change, but the meaning of its
    weights does.
    """
    holds = e.status(COMMITTED) == "ok"
    name = "with weights in the order of a checkpoint one token gets the answer it got before"
    yield Figure(name, holds=holds)
    yield Figure("the path as described gives it", holds=e.status(DESCRIBED) == "ok")


@Claim("vacuous", DEEPSEEK_684["29,73-74"], on="any", batch=1, seq=256, causal=False)
def fast_path_threshold(e):
    """The fast path is taken automatically for up to 256 tokens, where there is no mask

    The model's forward makes a mask for every length above 1 (Transformer.forward in inference/model.py), so
    in the model only single tokens take the fast path. Lengths of 64 to 256, as in the table of times, take
    it only if attention is called without the mask, and then every token sees all later ones.
    """
    yield Figure("256 tokens without a mask take it", holds=e.fact(COMMITTED, "path") == "claimed")
    yield Figure("257 do not", holds=e.fact(COMMITTED, "path", seq=257) == "naive")
    holds = e.fact(COMMITTED, "path", seq=2, causal=True) == "claimed"
    name = "the model's own forward, which makes a mask, takes it for 2 tokens"
    yield Figure(name, holds=holds, premise=True)
    yield Figure("path of a single token", found=e.fact(COMMITTED, "path", seq=1, causal=True))


@Claim(
    "contradicted",
    DEEPSEEK_684["22-24,32,66"],
    on="any",
    headline=(
        "The lines that DeepSeek-V3 #684 prints as its fast path raise a dtype error in "
        "bf16, the dtype that DeepSeek-V3 runs in."
    ),
    **SHORT,
)
def dtypes(e):
    """The fast path handles dtypes consistently and is compatible with different data types

    The softmax is computed in f32 and not cast back, so f32 probabilities are multiplied with values of the
    model's dtype. torch multiplies only matrices of one dtype: in f64, bf16 and f16 the printed lines raise.
    """
    holds = e.check("mla/dtypes", PRINTED)
    yield Figure("the lines printed run, and are right, in f64, f32, bf16 and f16", holds=holds)
    yield Figure("they are in f32", holds=e.status(PRINTED) == "ok")
    yield Figure("the lines that they replace are in all four", found=e.check("mla/dtypes", BEFORE))
    yield Figure("the path as described is in all four", found=e.check("mla/dtypes", DESCRIBED))


@Claim("vacuous", DEEPSEEK_684["6,22,30-33"], on="any", **SHORT)
def softmax_f32(e):
    """A softmax that is explicitly f32 makes the attention numerically more stable

    Internally, torch's softmax of bf16 scores works in f32 and rounds once, so it gives the same as one that
    is explicitly f32 and cast back. Upstream's code already requests f32 and casts back (scores.softmax in
    inference/model.py).
    """
    yield Figure("answers with it are right in f32", holds=e.status(PRINTED) == "ok")
    holds = e.status(BEFORE, dtype="bf16") == "incorrect"
    yield Figure("answers in bf16 need it to be right", holds=holds, premise=True)


@Claim("vacuous", DEEPSEEK_684["8,11-24,27-28"], on="any", batch=32, seq=256, causal=False)
def printed_lines(e):
    """The lines printed as after optimise those printed as before, with a single product for scores and for
    outputs and fewer allocations

    The lines before also have one product for scores and one for outputs. In f32, the only dtype in which the
    lines after run, both are the same operators on the same shapes. Both get queries and keys with heads
    first, which the text prints only for after.
    """
    yield Figure("the lines after are right in f32", holds=e.status(PRINTED, batch=1) == "ok")
    holds = e.program(PRINTED, "host") != e.program(BEFORE, "host")
    yield Figure("in f32 they are another program than the lines before", holds=holds, premise=True)
    yield Figure("FLOPs after over before", "×", found=e.flops(PRINTED, "host") / e.flops(BEFORE, "host"))
    yield Figure("temporaries after over before", "×", found=e.trace_bytes(PRINTED) / e.trace_bytes(BEFORE))
    found = e.flops(PRINTED, "host") / e.flops("naive", "host")
    yield Figure("FLOPs after over those of upstream's naive path", "×", found=found)


@Claim("reproduced", DEEPSEEK_684["53-66"], on="any", **SHORT)
def described_path(e):
    """The fast path was verified at batches 1 to 32, lengths 32 to 512, at 256 tokens, with and without a
    mask, for scales, gradients, head widths and dtypes

    mla/fast_path is judged, which was written for this project from the description: a path as described can
    pass all of this. The code of the commits does not (fast-path-equal, dtypes), and the tests that are
    listed were not published with it.
    """

    def ok(**shape):
        return e.status(DESCRIBED, **shape) == "ok"

    name = "batches 1, 8, 16 and 32"
    yield Figure(name, holds=every(*(ok(batch=batch, seq=32) for batch in (1, 8, 16, 32))))
    holds = e.check("mla/batch_slices", DESCRIBED, batch=8, seq=32)
    yield Figure("a sequence does not feel the others", holds=holds)
    yield Figure("lengths 32 and 512", holds=every(ok(seq=32), ok(seq=512)))
    yield Figure("with and without a mask", holds=every(ok(), ok(causal=True)))
    yield Figure("255, 256 and 257 tokens", holds=e.check("mla/boundary", DESCRIBED, seq=256))
    yield Figure("input scales", holds=e.check("mla/input_scales", DESCRIBED))
    yield Figure("gradients", holds=every(ok(mode="bwd"), e.check("mla/no_nan", DESCRIBED, mode="bwd")))
    yield Figure("other head widths", holds=ok(nope=64, rope=32, v=96))
    yield Figure("other dtypes", holds=e.check("mla/dtypes", DESCRIBED))


@Claim("reproduced", DEEPSEEK_MODEL, on="any", batch=32, seq=512, config="v3", causal=False)
def prefill_flops(e):
    """In a prefill at the 671B model's widths attending the latents (absorb) takes more FLOPs than making
    every head's keys (naive)

    The difference of the compiled programs removes what both have in common, and agrees with the widths of
    the model.
    """
    # Per pair of tokens and head absorb has widths 512 + 64 + 512, and naive has 128 + 64 + 128
    more = (number(512) + 64 + 512) - (number(128) + 64 + 128)
    for seq in (64, 512):
        follows = 2 * e.batch * number(seq) ** 2 * 128 * more / 1e9
        found = (e.flops("absorb_jax", "host", seq=seq) - e.flops("naive_jax", "host", seq=seq)) / 1e9
        name, within = f"more FLOPs at {seq} tokens", (0.01, "softmax and copies")
        yield Figure(name, "GFLOP", follows=follows, found=found, within=within)


@Claim("reproduced", DEEPSEEK_MODEL, on="any", config="v3", phase="decode", seq=Ki)
def decode_cache(e):
    """A cached token takes 40960 values as keys and values of 128 heads and 576 as a latent, 71 times fewer

    The widths of the model give the cache sizes of the compiled decodes.
    """
    naive, absorb = 128 * (number(128) + 64 + 128), number(512) + 64
    # A decode's inputs for 2Ki cached tokens, less those for 1Ki; f32
    for path, follows in (("naive", naive), ("absorb", absorb)):
        long, short = (e.argument_bytes(f"{path}_jax", "host", seq=seq) for seq in (2 * Ki, Ki))
        yield Figure(f"values a token of {path}", follows=follows, found=(long - short) / Ki / 4)
    yield Figure("times fewer", "×", follows=naive / absorb)


@Claim("not checkable here", DEEPSEEK_MODEL, on="any")
def mscale(e):
    """A context extended 40 times scales scores by m² = 1.874, with m = 0.1·mscale·ln(factor) + 1

    The value follows from upstream's formula; no published value exists to compare it with
    """
    yield Figure("m²", follows=(0.1 * log(40) + 1) ** 2)


@Claim("not checkable here", SGLANG_11892, on="not stated", phase="prefill", config="v3")
def threshold_sglang(e):
    """In sglang every head's keys are made for prefills below 2048 tokens, and latents are attended in every
    decode

    It is a setting; the length at which the times cross depends on kernels and needs the GPU
    """
    yield Figure("first length that attends latents", published=2048)


@Claim("not checkable here", SGLANG_9295, on="H20", phase="prefill")
def threshold_sglang_h20(e):
    """On an H20 the change to latents is reported at 512 tokens

    Needs an H20; neither the model's widths nor the times are stated
    """
    yield Figure("length of the change", published=512)


@Claim("not checkable here", VLLM_47327, on="not stated", phase="prefill")
def threshold_vllm(e):
    """In vLLM every head's keys are made where no prefill of the batch is longer than the indexer's top-k

    A rule, not a number; where it starts to apply follows the model's top-k, and its gain needs the GPU
    """
