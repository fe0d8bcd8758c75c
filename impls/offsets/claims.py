"""Published statements about segment offsets, with the evidence for or against them.

Run `seqsweep claims offsets` to check them. TransformerEngine #2522 had two descriptions of two algorithms:
compact_bincount here is the first, onehot_minmax the merged one. Neither names its GPU, nor the first one its
mask, so compiling for cuda:h200 counts as another target. No number was published for the effect on a whole
model, or below the header of the latency table, so neither is a claim.
"""

from itertools import product

from harness.claims import Claim, Figure, Ki, Source, every, number

TE_2522 = Source(
    "TransformerEngine #2522, first description and its review",
    "https://github.com/NVIDIA/TransformerEngine/pull/2522",
    of="TransformerEngine #2522",
    version="1e855613d",
    stored="002",
)
TE_2522_FINAL = Source(
    "TransformerEngine #2522, final description",
    "https://github.com/NVIDIA/TransformerEngine/pull/2522",
    of="TransformerEngine #2522",
    version="360779bab",
)
LOWER_TERMS = (0.01, "lower terms")
ABOUT = (0.05, "printed with ~")
ABOUT_10_000 = (0.1, "printed as ~10,000")
LOWER_TERMS_5 = (0.05, "lower terms")

OLD, FIRST, MERGED = "mask_quadratic", "compact_bincount", "onehot_minmax"
H200, H100 = "cuda:h200", "cuda:h100"
UNSTATED = "GPU, not stated which"
MASKS = {"bottom_right": "bottom right", "causal": "causal", "padding": "padding"}


def times_less(e, figure, new, target, **shape):
    """A compiled figure of the replaced mask, divided by that of its replacement."""
    ask = getattr(e, figure)
    return ask(OLD, target, **shape) / ask(new, target, **shape)


def grows(e, name, exponent, figure, label, target="host", low=64 * Ki, high=128 * Ki, **shape):
    """The exponent with which a compiled figure grows in the tokens."""
    found = e.exponent(figure, label, target, low, high, **shape)
    return Figure(name, follows=exponent, found=found, within=LOWER_TERMS)


@Claim(
    "reproduced on another target",
    TE_2522["76"],
    on=UNSTATED,
    batch=1,
    seq=128 * Ki,
    max_segments=16,
    kind="bottom_right",
)
def memory_128k(e):
    """At 128k tokens the old mask needs 16 GiB of scratch memory and the O(T) helpers about 1.5 MiB, some 10
    000 times less

    Sixteen GiB are one byte for every pair of tokens. For an H200 and a bottom-right mask the compiler stores
    one such array, and two for a sliding window or for an A100; the text names neither mask nor GPU.
    """
    follows = number("16Gi") / number("1.5Mi")
    yield Figure("published ratio", "×", published=10_000, follows=follows, within=ABOUT_10_000)
    found = e.temp_bytes(OLD, H200)
    within = (0.02, "printed in whole GiB")
    yield Figure("pairwise mask", "B", published="16Gi", follows=e.seq * e.seq, found=found, within=within)
    found = e.temp_bytes(FIRST, H200)
    yield Figure("the O(T) helpers", "B", published="1.5Mi", found=found, within=(0.1, "printed as ~1.5"))
    found = times_less(e, "temp_bytes", FIRST, H200)
    yield Figure("ratio compiled", "×", published=10_000, found=found, within=ABOUT_10_000)
    yield Figure("pairwise mask of a sliding window", "B", found=e.temp_bytes(OLD, H200, kind="sliding"))
    yield Figure("pairwise mask for an A100", "B", found=e.temp_bytes(OLD, "cuda:a100"))


@Claim(
    "reproduced on another target",
    TE_2522["76"],
    on=UNSTATED,
    batch=1,
    seq=128 * Ki,
    max_segments=16,
    kind="padding",
)
def flops_128k(e):
    """At 128k tokens the O(T) helpers take about 6 900 times fewer FLOPs than the old mask

    The ratio depends on the mask and on what the compiler fuses, and the text names neither mask nor GPU: it
    is 5 566 to 13 218 on the host and 7 457 to 12 618 for an H200. The number fits a padding mask; with other
    masks the gain is larger.
    """
    found = times_less(e, "flops", FIRST, H200)
    within = (0.1, "printed as ~6,900, the mask not stated")
    yield Figure("padding mask, cuda:h200", "×", published=6_900, found=found, within=within)
    holds = every(
        times_less(e, "flops", FIRST, "host") < 6900,
        times_less(e, "flops", FIRST, "host", kind="sliding") > 6900,
    )
    yield Figure("the published number lies within the masks' range on the host", holds=holds)
    yield Figure("padding mask, host", "×", found=times_less(e, "flops", FIRST, "host"))
    for target in ("host", H200):
        for kind, name in (("bottom_right", "bottom-right mask"), ("sliding", "sliding window")):
            found = times_less(e, "flops", FIRST, target, kind=kind)
            yield Figure(f"{name}, {target}", "×", found=found)


@Claim(
    "reproduced",
    TE_2522["34-37,75-76"],
    on="any",
    batch=1,
    seq=128 * Ki,
    max_segments=16,
    kind="bottom_right",
)
def growth(e):
    """FLOPs and scratch memory of the old path grow as T², those of the new one as T

    Between 64k and 128k tokens an H200's scratch memory grows by far more than T²: at 64k the compiler fuses
    the mask into both of its reductions and stores none of it.
    """
    yield grows(e, "exponent of the old path's FLOPs", 2, "flops", OLD)
    yield grows(e, "exponent of the old path's scratch memory", 2, "temp_bytes", OLD)
    yield grows(e, "exponent of its FLOPs, sliding window", 2, "flops", OLD, kind="sliding")
    name = "exponent of its scratch memory, cuda:h200, from 128k tokens on"
    yield grows(e, name, 2, "temp_bytes", OLD, H200, 128 * Ki, 512 * Ki)
    yield grows(e, "exponent of the new path's FLOPs", 1, "flops", FIRST)
    yield grows(e, "exponent of the new path's scratch memory", 1, "temp_bytes", FIRST)
    found = e.exponent("temp_bytes", OLD, H200, 64 * Ki, 128 * Ki)
    yield Figure("scratch memory of the old path from 64k to 128k tokens, cuda:h200", found=found)


@Claim("reproduced", TE_2522["23-24"], on="any", batch=1, seq=128 * Ki, max_segments=16, kind="causal")
def causal_already_linear(e):
    """A causal mask without a window took an O(T) path before this change, which stays as it was

    The replaced code served only the other masks, so the gains here are computed for bottom right, padding
    and a sliding window.
    """
    yield grows(e, "exponent of its FLOPs", 1, "flops", "fast_causal")
    yield grows(e, "exponent of its scratch memory", 1, "temp_bytes", "fast_causal")


@Claim(
    "reproduced on another target",
    TE_2522["75"],
    on=UNSTATED,
    batch=1,
    seq=512 * Ki,
    max_segments=16,
    kind="bottom_right",
)
def out_of_memory(e):
    """The old mask can run out of memory for longer sequences, which the O(T) helpers prevent

    One row of 512k tokens is enough; more rows in a batch run out of memory earlier.
    """
    holds = e.temp_bytes(OLD, H200) > e.memory(H200)
    yield Figure("at 512k tokens the pairwise mask exceeds an H200's memory", holds=holds)
    holds = e.temp_bytes(FIRST, H200) < e.memory(H200) / 1000
    yield Figure("the helpers take less than a thousandth of it", holds=holds)
    yield Figure("planned for the mask", "B", found=e.temp_bytes(OLD, H200))
    yield Figure("planned for the helpers", "B", found=e.temp_bytes(FIRST, H200))


@Claim("reproduced", TE_2522["63-69"], on="any", batch=1, seq=Ki, max_segments=16, kind="padding")
def compaction(e):
    """Compacting the ids before the count gives what a plain bincount gives, and adds operations

    Both are compared with the same lengths and offsets. A slot without a segment may be 0 or −1, as in the
    two texts.
    """
    holds = every(e.status(FIRST) == "ok", e.status("bincount") == "ok")
    yield Figure("both give the lengths and offsets asked for", holds=holds)
    holds = every(
        e.status(FIRST, layout="intra_padding") == "ok", e.status("bincount", layout="intra_padding") == "ok"
    )
    yield Figure("also with padding inside segments", holds=holds)
    holds = e.flops(FIRST, "host", seq=128 * Ki) > e.flops("bincount", "host", seq=128 * Ki)
    yield Figure("compacting costs FLOPs", holds=holds)
    found = e.flops(FIRST, "host", seq=128 * Ki) / e.flops("bincount", "host", seq=128 * Ki)
    yield Figure("FLOPs with it over FLOPs without", "×", found=found)
    found = e.flops(FIRST, H200, seq=128 * Ki) / e.flops("bincount", H200, seq=128 * Ki)
    yield Figure("the same for cuda:h200", "×", found=found)


@Claim("reproduced", TE_2522["73"], on="any", batch=1, seq=Ki, max_segments=16, kind="bottom_right")
def third_start(e):
    """Ids 1, 1, 0, 1, 2, 2 give the first version a third segment start at index 3, though there are two
    segments

    Padding that ends within a segment starts the segment again, both in the replaced mask and in its
    replacement.
    """
    # The check requires starts at 0, 3 and 4 of exactly these ids
    yield Figure("the third start is there", holds=e.check("offsets/intra_segment_padding", FIRST))
    yield Figure("the replaced mask starts there too", found=e.check("offsets/intra_segment_padding", OLD))


@Claim(
    "contradicted",
    TE_2522["86-87"],
    on="any",
    headline=(
        "XLA's FLOP count is not immune to fusion, as TransformerEngine #2522 says it "
        "is; it gives one program 1.6 times the FLOPs for an H100 as for an H200, where "
        "less is fused."
    ),
    batch=1,
    seq=64 * Ki,
    max_segments=16,
    kind="sliding",
)
def fusion_immune(e):
    """XLA's cost analysis of the compiled program gives the work of a call and is immune to fusion

    It counts the optimised program, in which work that is fused into two consumers is done twice and counted
    twice. For an H100 the mask is fused into both of its reductions and never stored; for an H200 parts of it
    are stored once.
    """
    found = e.flops(OLD, H100) / e.flops(OLD, H200)
    name = "FLOPs of one program for an H100 over those for an H200"
    yield Figure(name, "×", follows=1, found=found, within=LOWER_TERMS_5)
    found = e.flops(OLD, H200, kind="bottom_right") / e.flops(OLD, "host", kind="bottom_right")
    name = "FLOPs for an H200 over those on the host, bottom-right mask"
    yield Figure(name, "×", follows=1, found=found, within=LOWER_TERMS_5)
    yield Figure("FLOPs per pair of tokens for an H100", found=e.flops(OLD, H100) / e.seq**2)
    yield Figure("FLOPs per pair of tokens for an H200", found=e.flops(OLD, H200) / e.seq**2)
    yield Figure("FLOPs per pair of tokens on the host", found=e.flops(OLD, "host") / e.seq**2)
    yield Figure("scratch memory for an H100", "B", found=e.temp_bytes(OLD, H100))
    yield Figure("scratch memory for an H200", "B", found=e.temp_bytes(OLD, H200))


@Claim(
    "reproduced on another target",
    TE_2522_FINAL,
    TE_2522["76"],
    on=UNSTATED,
    batch=1,
    seq=64 * Ki,
    max_segments=16,
    kind="bottom_right",
)
def memory_64k(e):
    """At 64k tokens the old mask needs about 64 MiB of scratch memory and the merged helpers about 1.3 MiB,
    50 to 800 times less, a trend that holds for three masks and 16 to 256 segments

    The two descriptions do not contradict each other: for an H200 the compiler plans both 64 MiB at 64k and
    16 GiB at 128k, where it no longer fuses all of the mask. The merged helpers take 0.08 to 1.0 MiB there;
    1.3 MiB may be for another GPU or compiler.
    """
    follows = number("64Mi") / number("1.3Mi")
    within = (0.05, "both printed with ~")
    yield Figure("published ratio", "×", published=(50, 800), follows=follows, within=within)
    found = e.temp_bytes(OLD, H200)
    yield Figure("pairwise mask", "B", published="64Mi", found=found, within=(0.02, "printed in whole MiB"))
    found = e.temp_bytes(MERGED, H200)
    within = (0.25, "printed with ~, GPU not stated")
    yield Figure("merged helpers, bottom right", "B", published="1.3Mi", found=found, within=within)
    for segments in (16, 256):
        for kind, name in MASKS.items():
            found = times_less(e, "temp_bytes", MERGED, H200, kind=kind, max_segments=segments)
            name_ = f"ratio, {name}, {segments} segments"
            yield Figure(name_, "×", published=(50, 800), found=found, within=ABOUT)
    name = "the mask of the first description's 128k tokens over that of 64k"
    found = e.temp_bytes(OLD, H200, seq=128 * Ki) / e.temp_bytes(OLD, H200)
    within = (0.05, "printed in whole GiB and MiB")
    yield Figure(name, "×", follows=number("16Gi") / number("64Mi"), found=found, within=within)
    yield Figure("merged helpers, padding", "B", found=e.temp_bytes(MERGED, H200, kind="padding"))


@Claim(
    "reproduced on another target",
    TE_2522_FINAL,
    on=UNSTATED,
    batch=1,
    seq=64 * Ki,
    max_segments=16,
    kind="bottom_right",
)
def flops_64k(e):
    """At 64k tokens the merged helpers take about 3 000 to 5 000 times fewer FLOPs, a trend that holds for
    three masks and 16 to 256 segments

    The text gives the range before it names masks and segments, and not for each of them. With 16 segments a
    causal mask gains more, 6 429 times. With 256 segments all three gain 800 to 870 times, as the helpers'
    work grows with the number of segments.
    """
    for segments, kind in product((16, 256), ("bottom_right", "padding", "causal")):
        name = f"{MASKS[kind]}, {segments} segments"
        found = times_less(e, "flops", MERGED, H200, kind=kind, max_segments=segments)
        if segments == 16 and kind != "causal":
            yield Figure(name, "×", published=(3_000, 5_000), found=found, within=ABOUT)
        else:
            yield Figure(name, "×", found=found)


@Claim("reproduced", TE_2522_FINAL, on="any", batch=1, seq=64 * Ki, max_segments=256, kind="bottom_right")
def merged_growth(e):
    """The merged helpers take work and memory that grow as the tokens times the number of segments

    A program compiled for the host needs the same additional work and memory for every further segment, and
    doubles both with the tokens.
    """
    yield grows(e, "exponent of FLOPs in the tokens", 1, "flops", MERGED)
    yield grows(e, "exponent of scratch memory in the tokens", 1, "temp_bytes", MERGED)
    # Whatever does not depend on the segments cancels in the differences
    for figure, name in (
        ("flops", "FLOPs that 128 more segments add, over those that 64 add"),
        ("temp_bytes", "scratch memory that 128 more segments add, over that of 64"),
    ):
        at = [getattr(e, figure)(MERGED, "host", max_segments=segments) for segments in (64, 128, 256)]
        found = (at[2] - at[1]) / (at[1] - at[0])
        yield Figure(name, "×", follows=number(128) / 64, found=found, within=LOWER_TERMS)
