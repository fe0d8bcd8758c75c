import dataclasses
import math
import random
import statistics
from operator import truediv

import pytest

from harness.analysis.stats import (
    by_round,
    ratio,
    standard_deviation,
    student_t,
    time_of,
    time_saved,
    unanimous_ratio,
)


def test_one_process_shows_its_recorded_median(record):
    found = time_of([record("base", 4096, [4.0, 1.0, 3.0, 2.0, 5.0, 6.0, 7.0])])
    assert (found.value, found.low, found.high) == (4.0, 1.0, 7.0)
    assert (found.unit, found.samples, found.label) == ("rounds", 7, "within one process")
    assert found.reason is None


def test_a_recorded_median_outside_its_interval_is_replaced_by_the_median_over_rounds(record):
    old = record("base", 4096, [1.0] * 7)
    samples, rounds = (3.0, 3.0, 1.1, 1.0, 1.2) * 7, tuple(r for r in range(7) for _ in range(5))
    slow_first = dataclasses.replace(
        old.timing, samples_s=samples, round=rounds, median_s=3.0, low_s=1.0, high_s=1.3
    )
    assert time_of([dataclasses.replace(old, timing=slow_first)]).value == 1.2


def test_too_few_rounds_have_a_value_but_no_bounds(record):
    found = time_of([record("base", 4096, [1.0, 2.0, 3.0])])
    assert (found.value, found.low, found.high) == (2.0, None, None)
    assert found.reason == "needs ≥ 6 rounds; has 3"


def test_samples_of_one_round_count_once(record, timing):
    twice = timing([1.0, 1.2, 2.0, 2.2], [0, 0, 1, 1])
    assert time_of([record("base", 4096, timing=twice)]).reason == "needs ≥ 6 rounds; has 2"


def test_without_a_timing_there_is_no_value(record):
    found = time_of([record("base", 4096, status="oom")])
    assert (found.value, found.reason) == (None, "not timed")


def test_drift_common_to_both_sides_cancels(record):
    drift = [1.0, 1.5, 0.7, 2.0, 1.1, 0.9, 3.0]
    found = ratio([record("base", 4096, [2 * d for d in drift])], [record("x", 4096, drift)])
    assert (found.value, found.low, found.high) == pytest.approx((2.0, 2.0, 2.0))
    assert (found.unit, found.samples) == ("rounds", 7)


def test_swapping_the_sides_inverts_the_ratio(record):
    a, b = [1.0, 1.1, 0.9, 1.3, 1.0, 1.2, 1.05, 0.8], [2.0, 2.5, 1.9, 2.2, 2.1, 1.8, 2.6, 2.4]
    one = ratio([record("a", 1, a)], [record("b", 1, b)])
    other = ratio([record("b", 1, b)], [record("a", 1, a)])
    assert one.value == pytest.approx(1 / other.value)
    assert (one.low, one.high) == pytest.approx((1 / other.high, 1 / other.low))


def test_only_rounds_that_both_have_are_paired(timing):
    mine, theirs = timing([2.0, 4.0, 9.0], [0, 2, 3]), timing([1.0, 7.0, 1.0, 1.0], [0, 1, 2, 2])
    assert by_round((mine, theirs), truediv) == [2, 4]


def test_sides_without_a_common_round_have_no_ratio(record, timing):
    one = record("a", 1, timing=timing([1.0], [0]))
    other = record("b", 1, timing=timing([1.0], [5]))
    assert ratio([one], [other]).reason == "no round has all sides"


def by_process(record, name, factors):
    """One record per process, with equal samples in all its rounds."""
    return [record(name, 4096, [factor] * 8, replicate=i) for i, factor in enumerate(factors)]


def test_four_processes_give_a_t_interval_over_processes(record):
    factors = [2.0, 2.2, 1.9, 2.1]
    found = ratio(by_process(record, "base", factors), by_process(record, "x", [1.0] * 4))
    logs = [math.log(factor) for factor in factors]
    half = 3.182446305284263 * statistics.stdev(logs) / 2  # t, 97.5 %, 3 degrees of freedom
    assert found.value == pytest.approx(math.exp(statistics.fmean(logs)))
    assert found.low == pytest.approx(math.exp(statistics.fmean(logs) - half))
    assert found.high == pytest.approx(math.exp(statistics.fmean(logs) + half))
    assert (found.unit, found.samples, found.label) == ("processes", 4, "by process")


def test_three_processes_are_not_pooled_into_many_rounds(record):
    found = ratio(by_process(record, "base", [2.0] * 3), by_process(record, "x", [1.0] * 3))
    assert found.value == pytest.approx(2.0)
    assert (found.low, found.high) == (None, None)
    assert found.reason == "needs ≥ 4 processes; has 3"


def test_processes_that_agree_have_an_interval_of_no_width(record):
    found = time_of(by_process(record, "x", [0.5] * 4))
    assert (found.value, found.low, found.high) == pytest.approx((0.5, 0.5, 0.5))


def test_processes_are_paired_by_replicate_and_run(record):
    base = record("base", 4096, [1.0] * 6, replicate=1)
    assert ratio([base], [record("x", 4096, [1.0] * 6)]).reason == "no process has all sides"
    assert ratio([base], [record("x", 4096, [1.0] * 6, replicate=1, run="r2")]).value is None


def test_the_ratio_has_the_warnings_of_both_sides(record, timing):
    one = record("a", 1, timing=timing([1.0], warnings=("throttled",)))
    other = record("b", 1, timing=timing([1.0], warnings=("throttled", "not interleaved")))
    assert ratio([one], [other]).warnings == ("throttled", "not interleaved")


@pytest.mark.parametrize(("freedom", "expected"), [(1, 12.706), (5, 2.571), (30, 2.042)])
def test_quantiles_of_t_are_those_of_the_tables(freedom, expected):
    assert student_t(0.975, freedom) == pytest.approx(expected, abs=5e-4)


def test_the_time_saved_is_the_difference_within_rounds_times_the_layers(record):
    base = [0.010 + drift for drift in (0, 1e-3, 2e-3, 3e-3, 4e-3, 5e-3)]
    mine = [seconds - 2e-3 for seconds in base]
    found = time_saved([record("a", 64, mine)], [record("b", 64, base)], 58)
    assert found.value == pytest.approx(58 * 2e-3)
    assert (found.low, found.high) == (pytest.approx(0.116), pytest.approx(0.116))
    assert time_saved([record("b", 64, base)], [record("a", 64, mine)], 58).value == pytest.approx(-0.116)


@pytest.mark.parametrize("level", [0.0, -11.5, 1e8])
def test_a_standard_deviation_is_that_of_exact_sums(level):
    noise = random.Random(0)
    values = [level + noise.gauss(0, 0.01) for _ in range(20)]
    assert standard_deviation(values) == pytest.approx(statistics.stdev(values), rel=1e-14)


def test_equal_rounds_of_both_sides_are_paired_like_any_others(timing):
    mine, theirs = timing([1.0, 2.0, 8.0]), timing([2.0, 1.0, 2.0])
    shuffled = [
        dataclasses.replace(side, samples_s=side.samples_s[::-1], round=(2, 1, 0)) for side in (mine, theirs)
    ]
    assert by_round((mine, theirs), truediv) == by_round(shuffled, truediv) == [0.5, 2, 4]


def test_a_ratio_is_unanimous_if_all_its_rounds_are(record):
    base = [record("base", 4096, [2.0] * 7)]
    assert unanimous_ratio(base, [record("x", 4096, [1.0] * 7)])[1]
    assert not unanimous_ratio(base, [record("x", 4096, [1.0] * 6 + [2.0])])[1]
    assert not unanimous_ratio(base, [record("x", 4096, [1.0])])[1], "one sample is no vote"
