"""Warnings about a timing: other programs' load, drift and two levels. They accompany the value."""

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
LEVEL_SHARE = 0.2  # the least share of the readings that each level must hold
SHORTEST_S = 2e-4  # a reading below this is mostly the clock and the call


def timing_warnings(timing: Timing) -> tuple[str, ...]:
    """The warnings about a timing, one sentence each; empty where nothing is suspicious."""
    sentences = (_queued(timing), _drift(timing), _two_levels(timing.samples_s), _short(timing))
    return tuple(filter(None, sentences))


def _queued(timing: Timing) -> str | None:
    if not timing.was_queued:
        return None
    return (
        f"other programs took the processor: its threads waited {timing.queued:.2f} s for a core in each "
        "second of its readings; measure again on a quiet machine"
    )


def _drift(timing: Timing) -> str | None:
    """A warning where the last third of the rounds differs from the first and all thirds move one way."""
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
    return f"drifts: its last rounds are {share:.0f} % {way} than its first; ratios within rounds mind less"


def _two_levels(samples: Sequence[float]) -> str | None:
    """A warning where the widest gap between sorted readings separates two levels.

    A gap counts only where it is wider than twice the spread (interquartile range) on either side.
    """
    # Either side of the gap needs two readings at least: quartiles of one are undefined.
    least = max(2, math.ceil(LEVEL_SHARE * len(samples)))
    ordered = sorted(samples)
    # No logarithms for the many that have no gap at all; the margin is far above what they round.
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
        f"two levels: {levels[0]} and {levels[1]} ({share:.0f} % of readings); no single time describes both"
    )


def _middle_half(logs: Sequence[float]) -> float:
    low, _, high = statistics.quantiles(logs, n=4)
    return high - low


def _short(timing: Timing) -> str | None:
    reading_s = timing.median_s * timing.inner
    if timing.method != "wall" or reading_s >= SHORTEST_S:
        return None
    return f"a reading lasts {format_seconds(reading_s, 2)} only: the clock and the call weigh in it"
