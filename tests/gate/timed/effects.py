"""Effects of pairs: a small spread around a middle, wide ones, and those of a real experiment.

tests/data/aa_fixture.json holds log-ratios per round (times 1e4) of four cases: 90 pairs of processes with
identical code on a shared machine. A slowdown is added to them exactly; draws are seeded.
"""

import json
import math
import random
from collections import Counter
from pathlib import Path

from harness.gate.timed.decision import pair_effect

DRAWS = 2000
FIXTURE = json.loads((Path(__file__).parents[2] / "data/aa_fixture.json").read_text())
PAIRS = sorted(FIXTURE["round_log_ratio_1e4"].items())
ROUNDS = {case: [[value * 1e-4 for value in rounds] for rounds in pairs] for case, pairs in PAIRS}
EFFECTS = {case: [pair_effect(rounds) for rounds in pairs] for case, pairs in ROUNDS.items()}
SPREAD = (-0.004, 0.003, 0.001, 0.002, -0.002, 0.0, 0.004, -0.003, -0.001, 0.0, 0.002, -0.002)


def around(middle, count=12):
    return [middle + SPREAD[index % len(SPREAD)] for index in range(count)]


def replay(sequential_test, effects):
    """Feed what a gate has measured, case by case."""
    for case, found in effects.items():
        for effect in found:
            sequential_test.feed(case, effect)


def shares(verdict_on, slowdown, pairs, seed=7):
    """How often each verdict falls, over draws of that many pairs of a case."""
    rng, shift, cases, counts = random.Random(seed), math.log(slowdown), list(EFFECTS.values()), Counter()
    for draw in range(DRAWS):
        effects = [effect + shift for effect in rng.sample(cases[draw % len(cases)], pairs)]
        counts[verdict_on(effects)] += 1
    return {verdict: count / DRAWS for verdict, count in counts.items()}
