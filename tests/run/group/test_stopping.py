"""When enough has been measured, on lists of floats."""

import pytest

from harness.core.median_interval import samples_needed
from harness.run.group.stopping import Stopping

BOTH = {"slow": ("slow",), "fast": ("slow",)}


def feed_rounds(stopping, case, levels, seconds=0.01):
    for round_, level in enumerate(levels):
        stopping.feed(case, round_, [level], seconds)
    return stopping


def both_fed(**levels):
    """A stopping rule after rounds of 10 ms of the baseline `slow`, and of `fast`."""
    stopping = Stopping(BOTH, 0.05, 4.0)
    for case, own in levels.items():
        feed_rounds(stopping, case, own)
    return stopping


def test_a_steady_case_is_narrow_after_six_rounds():
    stopping = Stopping({}, 0.05, 4.0)
    feed_rounds(stopping, "one", [1.0] * (samples_needed() - 1))
    assert not stopping.is_narrow("one")
    assert stopping.cases_to_sample(["one"]) == ["one"]
    stopping.feed("one", 5, [1.0], 0.01)
    assert stopping.is_narrow("one")
    assert stopping.cases_to_sample(["one"]) == []
    assert stopping.reason("one") == "interval"


def test_a_higher_level_takes_more_rounds():
    stopping = Stopping({}, 0.05, 0.01, confidence=0.999)
    feed_rounds(stopping, "one", [1.0] * (samples_needed(0.999) - 1))
    assert samples_needed(0.999) > samples_needed()
    assert not stopping.is_narrow("one")
    assert not stopping.is_affordable("one")  # ten turns of 10 ms are beyond its budget, and so is the next
    few = feed_rounds(Stopping({}, 0.05, 0.1, confidence=0.999), "one", [1.0] * 10)
    assert few.is_affordable("one")  # the fewest with an interval may take four budgets
    feed_rounds(few, "one", [1.0] * samples_needed(0.999))
    assert few.is_narrow("one")


def test_common_drift_does_not_widen_the_ratio():
    drift = [1.0, 1.5, 2.0, 1.2, 0.7, 1.9]
    stopping = both_fed(slow=[2 * d for d in drift], fast=drift)
    assert stopping.is_narrow("fast")
    assert not stopping.is_narrow("slow")


def test_a_baseline_out_of_budget_before_six_rounds_does_not_decide():
    stopping = feed_rounds(both_fed(fast=[1.0] * 6), "slow", [9.0], seconds=9.0)
    assert stopping.is_narrow("fast")
    assert stopping.cases_to_sample(["slow", "fast"]) == []
    assert (stopping.reason("slow"), stopping.reason("fast")) == ("budget", "interval")


@pytest.mark.parametrize("rounds", [3, 9])
def test_a_dropped_baseline_does_not_decide(rounds):
    stopping = both_fed(slow=[1.0, 9.0, 0.1] * (rounds // 3), fast=[1.0] * 9)
    assert not stopping.is_narrow("fast")
    stopping.drop("slow")
    assert stopping.is_narrow("fast")
    assert stopping.cases_to_sample(["fast"]) == []


def test_last_turn_of_a_long_call_is_reserved():
    stopping = Stopping({}, 0.05, 1.0, {"one"})
    for each in ("one", "other"):
        feed_rounds(stopping, each, [1.0, 2.0, 3.0, 1.0, 2.0, 3.0], seconds=0.14)
    assert not stopping.is_affordable("one")
    assert stopping.is_affordable("other")


@pytest.mark.parametrize(
    ("case", "seconds", "rounds"), [("slow", 7.9, 5), ("slow", 8.1, 1), ("fast", 1.3, 5), ("fast", 1.4, 1)]
)
def test_the_fewest_rounds_of_an_interval_may_exceed_the_budget(case, seconds, rounds):
    """Six calls of a baseline of up to 8 s, and those of another case that four budgets of 2 s hold."""
    stopping = Stopping(BOTH, 1e-9, 2.0, set(BOTH))
    turns = 0
    while stopping.is_affordable(case):
        stopping.feed(case, turns, [seconds], seconds)
        turns += 1
    assert turns == rounds, "and a last one, which is judged"


@pytest.mark.parametrize(
    ("case", "seconds", "rounds"),
    [("slow", 0.6, 12), ("slow", 0.7, 6), ("fast", 0.3, 12), ("fast", 0.4, 6), ("fast", 0.7, 1)],
)
def test_a_steady_interval_gets_twice_the_rounds_where_they_are_not_too_long(case, seconds, rounds):
    stopping = Stopping(BOTH, 0.0, 1.0, steady=True)
    while stopping.is_affordable(case):
        stopping.feed(case, len(stopping.levels[case]), [1.0], seconds)
    assert len(stopping.levels[case]) == rounds


def test_the_first_turn_is_always_affordable():
    assert Stopping({}, 0.05, 1e-9).cases_to_sample(["one"]) == ["one"]
