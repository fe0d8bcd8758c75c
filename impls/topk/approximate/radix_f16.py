"""Radix select on scores rounded to f16: half the digits, but scores that round to one key are the same.

Among scores with the cutoff's key it selects the first, not the largest. On normal scores a few in a thousand
are wrong. If scores cluster around a value with coarse steps, most are: a kernel with f16 keys found 0.53 of
the selected values on rows of a real indexer (sglang #37591), and by theory `narrow` scores give that recall
at topk/seq 1/32.
"""

from math import sqrt
from statistics import NormalDist

from harness import Unsupported, implementation

from .._radix import selection
from ..workload import TopkWorkload

NORMAL = NormalDist()
SIGMAS = 8

# For normal scores with the cutoff at t ≥ 1, at most a share φ(t)/(1 − Φ(t)) · t/1024 ≤ (t² + 1)/1024 of the
# selection has the cutoff's key, and no more can be lost: below 0.03 up to t = 5.4, one of 3e7.
PROMISED = 0.97


def expected_recall(w: TopkWorkload) -> float:
    """For `narrow` scores, z sixteenths above 64: f16 rounds z to an integer (to a half below zero).

    All scores above the cutoff's step are selected. The remaining places go at random to scores on the step,
    so the share of right ones is the remaining places divided by the scores on the step.
    """
    share = w.topk / w.seq
    step = round(NORMAL.inv_cdf(1 - share))
    above = 1 - NORMAL.cdf(step + 0.5)
    on = 1 - NORMAL.cdf(step - 0.5) - above
    return (above + (share - above) ** 2 / on) / share


def _error(w: TopkWorkload) -> float:
    """Eight standard deviations of the mean recall, at most.

    Each of the k scores of a row is found or not, and the number of scores above the step varies like a count
    below k. Each has a variance below 1/k of a row's recall, and both together below 2/k.
    """
    return SIGMAS * sqrt(2 / (w.topk * w.rows * w.batch))


def _coarse(w: TopkWorkload) -> bool:
    return w.distribution == "narrow" and w.dtype in {"f32", "f64"}


def _fails(w: TopkWorkload) -> bool:
    return _coarse(w) and w.topk * 4 <= w.seq and expected_recall(w) + _error(w) < w.recall


LOST = "its keys cannot tell the row's largest apart, wherever they are (sglang #37591)"
HELD_TO_RECALL = ("recall_target_strict", "attention_mass_recall", "value_recall")


@implementation(
    framework="numpy",
    semantics="recall",
    fails=lambda w, _options: dict.fromkeys(HELD_TO_RECALL, LOST) if _fails(w) else {},
    expect={
        "incorrect": "scores that round to one f16 key are selected by index, not by value (sglang #37591)",
        "when": _fails,
    },
)
def radix_f16(w: TopkWorkload):
    if w.dtype == "bf16":
        raise Unsupported("dtype=bf16: values exceed the range of f16 keys; use radix")
    if _coarse(w) and not _fails(w):
        raise Unsupported("chance may decide whether f16 keys suffice here; use radix, or more rows")
    if w.recall > PROMISED and w.dtype != "f16":
        raise Unsupported(f"f16 keys do not promise recall {w.recall:g}; use radix, or at most {PROMISED:g}")
    return selection(w, "f16")
