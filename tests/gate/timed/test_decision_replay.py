"""The rule on a real experiment: 90 pairs of processes with identical code on a shared machine.

tests/data/aa_fixture.json holds log-ratios per round (times 1e4) of four cases; a slowdown is added
to them exactly. Draws are seeded.
"""

import json
import math
import random
import statistics
from collections import Counter
from pathlib import Path

import pytest

from harness.analysis.stats import student_t
from harness.gate.timed.decision import IMPROVED, REGRESSED, UNCHANGED, Margin, decide, pair_effect

DRAWS = 4000
FIXTURE = json.loads((Path(__file__).parents[2] / "data/aa_fixture.json").read_text())
ROUNDS = {
    case: [[value * 1e-4 for value in rounds] for rounds in pairs]
    for case, pairs in FIXTURE["round_log_ratio_1e4"].items()
}
EFFECTS = {case: [pair_effect(rounds) for rounds in pairs] for case, pairs in ROUNDS.items()}


def shares(slowdown: float, seed: int = 7) -> dict[str, float]:
    """How often each verdict falls, over draws of 12 pairs of a case."""
    rng, shift, counts = random.Random(seed), math.log(slowdown), Counter()
    for draw in range(DRAWS):
        case = sorted(EFFECTS)[draw % len(EFFECTS)]
        effects = [effect + shift for effect in rng.sample(EFFECTS[case], 12)]
        counts[decide(effects, Margin()).verdict] += 1
    return {verdict: count / DRAWS for verdict, count in counts.items()}


def test_identical_code_is_never_a_regression():
    found = shares(1.0)
    assert found.get(REGRESSED, 0) <= 0.003
    assert found.get(UNCHANGED, 0) + found.get(IMPROVED, 0) >= 0.97


def test_five_percent_is_caught():
    found = shares(1.05)
    assert found.get(REGRESSED, 0) >= 0.94
    assert found.get(UNCHANGED, 0) <= 0.01


def test_ten_percent_is_caught():
    assert shares(1.10).get(REGRESSED, 0) >= 0.99


def test_one_percent_is_no_regression():
    assert shares(1.01).get(REGRESSED, 0) <= 0.005


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
