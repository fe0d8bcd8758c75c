"""The sequential test on a real experiment: how often it errs."""

import math
import random
import statistics

import pytest

from harness.analysis.stats import student_t
from harness.gate.timed.decision import IMPROVED, REGRESSED, UNCHANGED, Margin, pair_effect
from harness.gate.timed.sequential_test import SequentialTest
from tests.gate.timed.effects import DRAWS, EFFECTS, ROUNDS, replay, shares


def verdict_of_test(effects):
    """With the confirmation on fresh pairs."""
    sequential_test = SequentialTest({"a": Margin()})
    replay(sequential_test, {"a": effects})
    return sequential_test.cases["a"].verdict.verdict


PAIRS = 24  # the first ones, and as many fresh ones


def test_identical_code_is_never_a_regression():
    found = shares(verdict_of_test, 1.0, PAIRS)
    assert found.get(REGRESSED, 0) <= 0.003
    assert found.get(UNCHANGED, 0) + found.get(IMPROVED, 0) >= 0.97


@pytest.mark.parametrize(("slowdown", "caught"), [(1.05, 0.94), (1.10, 0.99)])
def test_a_slowdown_is_caught(slowdown, caught):
    found = shares(verdict_of_test, slowdown, PAIRS)
    assert found.get(REGRESSED, 0) >= caught
    assert found.get(UNCHANGED, 0) <= 0.01


def test_one_percent_is_no_regression():
    assert shares(verdict_of_test, 1.01, PAIRS).get(REGRESSED, 0) <= 0.005


def covers(values, truth, level=0.90):
    state = student_t((1 + level) / 2, len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
    return abs(statistics.fmean(values) - truth) <= state


def coverage(unit) -> float:
    """How often a nominal 90 % interval from five pairs covers the mean of all; `unit` gives its values."""
    rng, hits = random.Random(11), 0
    for draw in range(DRAWS):
        case = sorted(ROUNDS)[draw % len(ROUNDS)]
        everything = [value for rounds in ROUNDS[case] for value in unit(rounds)]
        sample = [value for rounds in rng.sample(ROUNDS[case], 5) for value in unit(rounds)]
        hits += covers(sample, statistics.fmean(everything))
    return hits / DRAWS


def test_over_pairs_the_interval_covers_what_it_says():
    assert 0.88 <= coverage(lambda rounds: [pair_effect(rounds)]) <= 0.97


def test_pooled_flat_over_rounds_it_would_not():
    assert coverage(lambda rounds: rounds) < 0.88


@pytest.mark.parametrize("case", sorted(EFFECTS))
def test_swapped_sides_negate_every_effect(case):
    for rounds in ROUNDS[case]:
        assert pair_effect([-value for value in rounds]) == -pair_effect(rounds)
