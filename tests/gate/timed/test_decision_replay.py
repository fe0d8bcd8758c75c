"""The rule and the whole sequential test on a real experiment: how often each of them errs."""

import math
import random
import statistics

import pytest

from harness.analysis.stats import student_t
from harness.gate.timed.decision import IMPROVED, REGRESSED, UNCHANGED, Margin, decide, pair_effect
from harness.gate.timed.sequential_test import SequentialTest
from tests.gate.timed.effects import DRAWS, EFFECTS, ROUNDS, replay, shares


def verdict_of_rule(effects):
    return decide(effects, Margin()).verdict


def verdict_with_confirmation(effects):
    """With the confirmation on fresh pairs."""
    sequential_test = SequentialTest({"a": Margin()})
    replay(sequential_test, {"a": effects})
    return sequential_test.cases["a"].verdict.verdict


RULES = pytest.mark.parametrize(
    ("verdict_on", "pairs"), [(verdict_of_rule, 12), (verdict_with_confirmation, 24)]
)


@RULES
def test_identical_code_is_never_a_regression(verdict_on, pairs):
    found = shares(verdict_on, 1.0, pairs)
    assert found.get(REGRESSED, 0) <= 0.003
    assert found.get(UNCHANGED, 0) + found.get(IMPROVED, 0) >= 0.97


@RULES
@pytest.mark.parametrize(("slowdown", "caught"), [(1.05, 0.94), (1.10, 0.99)])
def test_a_slowdown_is_caught(verdict_on, pairs, slowdown, caught):
    found = shares(verdict_on, slowdown, pairs)
    assert found.get(REGRESSED, 0) >= caught
    assert found.get(UNCHANGED, 0) <= 0.01


@RULES
def test_one_percent_is_no_regression(verdict_on, pairs):
    assert shares(verdict_on, 1.01, pairs).get(REGRESSED, 0) <= 0.005


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
