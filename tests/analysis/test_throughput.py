"""Throughput: its work over its time."""

import pytest

from harness.analysis.suite_results import SuiteResults
from harness.core.record import Cost

TIMES = [0.09, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.11]
COST = Cost(flops=1e9, bytes=2e9, dense_flops=4e9)


def test_a_rate_is_the_count_over_the_time_with_swapped_bounds(record, suite):
    rates = SuiteResults.of(suite([record("base", 4096, TIMES, cost=COST)])).cases[0].throughput
    per_second = {work: rate.rate.value for work, rate in rates.items()}
    assert per_second == pytest.approx({"flops": 1e10, "dense_flops": 4e10, "bytes": 2e10})
    assert rates["bytes"].rate[1:3] == pytest.approx((2e9 / 0.11, 2e9 / 0.09))
