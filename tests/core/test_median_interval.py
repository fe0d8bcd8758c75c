import random

import pytest
from scipy.stats import binom

from harness.core.median_interval import median_interval, median_ranks, samples_needed


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99])
def test_ranks_are_the_narrowest_that_cover(level):
    """The median lies below order statistic r with the probability that at most r samples do."""
    for count in (*range(1, 40), 99, 100, 1001):
        ranks = median_ranks(count, level)
        if ranks is None:
            assert 1 - 2 * binom.cdf(0, count, 0.5) < level, count
            continue
        low, high = ranks
        assert low + high == count - 1
        assert 1 - 2 * binom.cdf(low, count, 0.5) >= level, count
        assert low + 1 >= count / 2 or 1 - 2 * binom.cdf(low + 1, count, 0.5) < level, count


def test_six_samples_are_needed_at_95_percent():
    assert samples_needed() == 6
    assert median_ranks(5) is None
    assert median_ranks(6) == (0, 5)
    assert samples_needed(0.5) == 2


def test_an_interval_is_made_of_samples():
    samples = [5.0, 1.0, 4.0, 2.0, 3.0, 9.0, 7.0]
    assert median_interval(samples) == (4.0, 1.0, 9.0)
    assert median_interval(samples[:4]) == (3.0, None, None)


def test_the_order_of_samples_does_not_matter():
    samples = [float(i) ** 1.5 for i in range(31)]
    shuffled = random.Random(3).sample(samples, len(samples))
    assert median_interval(shuffled) == median_interval(samples)
