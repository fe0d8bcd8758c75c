"""The distribution-free interval of a median, used where samples are judged and where shown.

The interval runs between two order statistics; its coverage follows from the binomial
distribution alone, whatever the shape of the timings.
"""

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache

LEVEL = 0.95


@lru_cache(maxsize=4096)
def median_ranks(count: int, level: float = LEVEL) -> tuple[int, int] | None:
    """0-based ranks of the narrowest symmetric interval that covers the median at `level`.

    None when `count` samples cannot reach the level (fewer than 6 at 95 %).
    """
    allowed = (1 - level) / 2
    tail = 0.0
    low = -1
    for rank in range(count // 2):
        # The median lies below order statistic r (from 0) where at most r samples lie below it, which has the
        # probability P(Bin(count, 1/2) ≤ r): the sign test, inverted. Ties only make the interval safer.
        tail += math.comb(count, rank) / 2**count
        if tail > allowed:
            break
        low = rank
    return None if low < 0 else (low, count - 1 - low)


def median(samples: Sequence[float]) -> float:
    """The middle of the samples, or the mean of the two in the middle. At least one is needed.

    `statistics.median` gives the same in twice the time, which a stored run takes for millions of rounds.
    """
    ordered, half = sorted(samples), len(samples) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def median_interval(
    samples: Sequence[float], level: float = LEVEL
) -> tuple[float, float | None, float | None]:
    """(median, low, high); the bounds are None with too few samples for the level."""
    ordered = sorted(samples)
    ranks = median_ranks(len(ordered), level)
    middle = median(ordered)
    if ranks is None:
        return middle, None, None
    return middle, ordered[ranks[0]], ordered[ranks[1]]


def samples_needed(level: float = LEVEL) -> int:
    """The fewest samples that give an interval at `level`."""
    return next(count for count in itertools.count(1) if median_ranks(count, level))
