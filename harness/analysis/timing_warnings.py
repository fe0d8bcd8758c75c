"""Warnings about a timing: load from other programs, drift, two levels, very short samples."""

import math
import statistics
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from operator import truediv

from harness.core.median_interval import median
from harness.core.record import Timing
from harness.core.units import format_seconds

DRIFT = 0.10  # a smaller change of level is usual on shared machines
DRIFT_ROUNDS = 12
LEVELS = 0.10  # two levels closer than this are one level with noise
LEVEL_SHARE = 0.2  # the least share of the samples on each level
SHORTEST_S = 2e-4  # in a shorter sample the overhead of clock and call is large


def timing_warnings(timing: Timing) -> tuple[str, ...]:
    """The warnings about a timing, one sentence each; empty if nothing is suspicious."""
    sentences = (_queued(timing), _drift(timing), _two_levels(timing.samples_s), _short(timing))
    return tuple(filter(None, sentences))


def _queued(timing: Timing) -> str | None:
    if not timing.was_queued:
        return None
    return (
        f"other programs used the processor: the case's threads waited {timing.queued:.2f} s for a core per "
        "second of samples; measure again on a quiet machine"
    )


def _drift(timing: Timing) -> str | None:
    """A warning if the last third of the rounds differs from the first and all thirds move one way."""
    rounds = sorted(set(timing.round))
    if len(rounds) < DRIFT_ROUNDS:
        return None
    third = len(rounds) // 3
    samples = timing.samples_s
    after, before = (bisect_left(timing.round, rounds[place]) for place in (third, -third))
    levels = [median(part) for part in (samples[:after], samples[after:before], samples[before:])]
    moved = math.log(levels[2] / levels[0])
    steady = levels[0] < levels[1] < levels[2] or levels[0] > levels[1] > levels[2]
    if not steady or abs(moved) < math.log1p(DRIFT):
        return None
    way = "slower" if moved > 0 else "faster"
    share = 100 * abs(math.expm1(moved))
    return f"drifts: the last rounds are {share:.0f} % {way} than the first; speedups are less affected"


def _two_levels(samples: Sequence[float]) -> str | None:
    """A warning if the widest gap between sorted samples separates two levels.

    A gap counts only if it is wider than twice the spread (interquartile range) on both sides.
    """
    # Each side of the gap needs at least two samples: quartiles of one are undefined.
    least = max(2, math.ceil(LEVEL_SHARE * len(samples)))
    ordered = sorted(samples)
    # Most cases have no gap, and need no logarithms; the margin is far above their rounding errors.
    if max(map(truediv, ordered[1:], ordered), default=0.0) < (1 + LEVELS) * (1 - 1e-9):
        return None
    logs = [math.log(sample) for sample in ordered]
    gaps = [above - below for below, above in pairwise(logs)][least - 1 : len(logs) - least]
    gap = max(gaps, default=0.0)
    if gap < math.log1p(LEVELS):
        return None
    cut = least + gaps.index(gap)
    below, above = logs[:cut], logs[cut:]
    if gap < 2 * max(_middle_half(below), _middle_half(above)):
        return None
    levels = [format_seconds(math.exp(median(part)), 2) for part in (below, above)]
    share = 100 * len(above) / len(logs)
    return (
        f"two levels: {levels[0]} and {levels[1]} ({share:.0f} % of samples); one time cannot describe both"
    )


def _middle_half(logs: Sequence[float]) -> float:
    low, _, high = statistics.quantiles(logs, n=4)
    return high - low


def _short(timing: Timing) -> str | None:
    sample_s = timing.median_s * timing.inner
    if timing.method != "wall" or sample_s >= SHORTEST_S:
        return None
    return f"a sample lasts only {format_seconds(sample_s, 2)}: clock and call overhead affect it"
