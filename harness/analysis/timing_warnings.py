"""Warnings about a timing: other programs' load, and drift. They accompany the value."""

import math
from bisect import bisect_left

from harness.core.median_interval import median
from harness.core.record import Timing

DRIFT = 0.10  # a smaller change of level is usual on shared machines
DRIFT_ROUNDS = 12


def timing_warnings(timing: Timing) -> tuple[str, ...]:
    """The warnings about a timing, one sentence each; empty where nothing is suspicious."""
    return tuple(filter(None, (_queued(timing), _drift(timing))))


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
