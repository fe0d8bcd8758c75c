"""The distribution-free confidence interval of a median.

The interval is between two order statistics. Its coverage follows from the binomial distribution, and does
not depend on the distribution of the timings.
"""

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache

LEVEL = 0.95


@lru_cache(maxsize=4096)
def median_ranks(count: int, level: float = LEVEL) -> tuple[int, int] | None:
    """0-based ranks of the narrowest symmetric interval that covers the median at `level`.

    None if `count` samples cannot reach the level (fewer than 6 at 95 %).
    """
    allowed = (1 - level) / 2
    tail = 0.0
    low = -1
    for rank in range(count // 2):
        # The median is below order statistic r (from 0) if at most r samples are below it. The probability is
        # P(Bin(count, 1/2) ≤ r): the sign test, inverted. Ties only make the interval more conservative.
        tail += math.comb(count, rank) / 2**count
        if tail > allowed:
            break
        low = rank
    return None if low < 0 else (low, count - 1 - low)


def median(samples: Sequence[float]) -> float:
    """The median of at least one sample.

    `statistics.median` takes twice the time, which matters for the millions of rounds of a stored run.
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
    """The smallest number of samples with an interval at `level`."""
    return next(count for count in itertools.count(1) if median_ranks(count, level))
