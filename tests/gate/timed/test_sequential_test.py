"""Sequential test of a gate: analyses, confirmation, and error rates on a real experiment."""

import math
import random
import statistics

import pytest

from harness.analysis.stats import student_t
from harness.gate.outcome import NOT_ENOUGH
from harness.gate.timed.decision import IMPROVED, REGRESSED, UNCHANGED, Margin, pair_effect
from harness.gate.timed.sequential_test import SequentialTest
from tests.gate.timed.effects import DRAWS, EFFECTS, ROUNDS, around, replay, shares
from tests.goldens import assert_golden, scenes

SLOW, FAST, SAME, WIDE = math.log(1.1), math.log(0.9), 0.0, (0.2, -0.1, 0.15, -0.05)


def feed(*effects, **more):
    sequential_test = SequentialTest({"a": Margin()}, **more)
    replay(sequential_test, {"a": effects})
    return sequential_test


def verdict(sequential_test, case="a"):
    found = sequential_test.cases[case].verdict
    return found.verdict if found else None


GROSS = math.log(20)
# The effects of one case, pair by pair; of those below, whether it is advisory
COURSES = {
    "the same": around(SAME, 4),
    "faster": around(FAST, 4),
    "slower, and again": around(SLOW, 8),
    "slower, and then the same": [*around(SLOW, 4), *around(SAME, 4)],
    "slower, and then faster": [*around(SLOW, 4), *around(FAST, 4)],
    "slower, and then unclear": [*around(SLOW, 4), *WIDE * 3],
    "unclear": WIDE * 3,
    "grossly slower, and again": [GROSS, math.log(22)],
    "grossly slower, and then just under twofold": [GROSS, math.log(1.99)],
    "grossly slower, and then the same": [GROSS, *around(SAME, 3)],
    "grossly slower, and then grossly faster": [GROSS, -GROSS],
    "grossly slower in the second pair": [0.0, GROSS],
    "twofold": [math.log(2)] * 2,
}
ADVISORY = {"slower": around(SLOW, 4), "unclear": WIDE, "the same": around(SAME, 4)}


def course(effects, advisory=()):
    """After each pair: the verdict or suspicion, its pairs, and the pairs to the next analysis."""
    test, lines = SequentialTest({"a": Margin()}, advisory), []
    for number, effect in enumerate(effects, 1):
        test.feed("a", effect)
        state = test.cases["a"]
        word = state.verdict.verdict if state.verdict else "suspected" if state.suspicion else "open"
        pairs = f" on {state.verdict.pairs}" if state.verdict else f", {test.missing('a')} more"
        bounds = (
            "" if state.latest.low is None else f" in [{state.latest.low:+.3f}, {state.latest.high:+.3f}]"
        )
        why = f" ({state.unconfirmed})" if state.unconfirmed else ""
        lines.append(f"{number}: {effect:+.3f}: {word}{pairs}{bounds}{why}")
        assert (test.undecided() == set()) is bool(state.verdict)
    return "\n".join(lines)


def test_the_course_of_a_case():
    courses = {name: course(effects) for name, effects in COURSES.items()}
    courses |= {f"advisory, {name}": course(effects, ["a"]) for name, effects in ADVISORY.items()}
    assert_golden("gate_courses.txt", scenes(courses))


def test_a_budget_that_ends_between_analyses_gives_no_verdict():
    quiet = SequentialTest({"a": Margin(looks=(6,))})
    replay(quiet, {"a": around(SLOW, 5)})
    latest = quiet.cases["a"].latest
    assert latest.low > quiet.cases["a"].margin.least  # an analysis here would find it
    assert (latest.verdict, latest.pairs) == (NOT_ENOUGH, 5)


BARELY = [math.log1p(0.025) + 0.01 + noise for noise in (0.003, -0.003, 0.003, -0.003)]  # p = 0.004


def test_a_barely_slower_case_among_forty_uses_all_pairs():
    many = {f"case {index}": Margin() for index in range(39)}
    sequential_test = SequentialTest({**many, "a": Margin()})
    replay(sequential_test, {"a": [*around(SLOW, 4), *BARELY]})
    assert sequential_test.undecided() == set(sequential_test.cases)
    assert sequential_test.missing("a") == 2
    assert sequential_test.cases["a"].latest.verdict == NOT_ENOUGH  # whatever these pairs show alone
    odd = [math.log1p(0.025) + 0.01 + noise for noise in (0.02, -0.02) * 4]
    replay(sequential_test, {"a": odd[:7]})
    assert verdict(sequential_test) is None
    sequential_test.feed("a", odd[7])
    assert verdict(sequential_test) == NOT_ENOUGH


def test_the_last_analysis_names_holms_procedure():
    many = {f"case {index}": Margin(looks=(4,)) for index in range(39)}
    sequential_test = SequentialTest({**many, "a": Margin(looks=(4,))})
    replay(sequential_test, {"a": [*around(SLOW, 4), *BARELY]})
    assert verdict(sequential_test) == NOT_ENOUGH
    assert sequential_test.cases["a"].unconfirmed == "does not pass Holm's procedure over 40 cases"


@pytest.mark.parametrize("already", [True, False])
def test_advisory_cases_are_not_hypotheses(already):
    """39 cases have the same program on both sides, so one case is tested at the full level."""
    many = [f"case {index}" for index in range(39)]
    margins = dict.fromkeys([*many, "a"], Margin(looks=(4,)))
    sequential_test = SequentialTest(margins, advisory=many if already else ())
    for name in () if already else many:
        sequential_test.advise(name)
    replay(sequential_test, {"a": [*around(SLOW, 4), *BARELY]})
    assert verdict(sequential_test) == REGRESSED


def test_more_pairs_may_confirm_a_case_among_forty():
    many = {f"case {index}": Margin() for index in range(39)}
    sequential_test = SequentialTest({**many, "a": Margin()})
    replay(sequential_test, {"a": [*around(SLOW, 4), *BARELY, *BARELY[:2]]})
    assert verdict(sequential_test) == REGRESSED
    assert sequential_test.cases["a"].verdict.pairs == 6


@pytest.mark.parametrize("effects", [[*around(SLOW, 4), 0.1], [*WIDE, 0.0]])
def test_a_case_marked_advisory_after_an_analysis_is_decided_by_it(effects):
    sequential_test = feed(*effects)
    assert sequential_test.undecided() == {"a"}
    sequential_test.advise("a")
    assert sequential_test.undecided() == set()


def test_a_case_marked_advisory_before_an_analysis_waits_for_it():
    sequential_test = feed(*around(SLOW, 3))
    sequential_test.advise("a")
    assert sequential_test.undecided() == {"a"}
    sequential_test.feed("a", SLOW)
    assert (verdict(sequential_test), sequential_test.cases["a"].fresh) == (REGRESSED, None)


def test_a_dropped_case_is_not_a_hypothesis():
    sequential_test = SequentialTest({f"case {index}": Margin() for index in range(39)} | {"a": Margin()})
    for index in range(39):
        sequential_test.drop(f"case {index}")
        sequential_test.drop(f"case {index}")
    sequential_test.feed("case 0", SLOW)
    replay(sequential_test, {"a": [*around(SLOW, 4), *BARELY]})
    assert verdict(sequential_test) == REGRESSED
    assert set(sequential_test.cases) == {"a"}


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_effects_must_be_finite(wrong):
    sequential_test = feed(0.0)
    with pytest.raises(ValueError, match="a: a pair's effect is not finite"):
        sequential_test.feed("a", wrong)
    assert sequential_test.cases["a"].first == [0.0]


def test_holm_counts_a_gross_case_without_a_penalty_for_others():
    sequential_test = SequentialTest({"a": Margin(), "b": Margin()})
    replay(sequential_test, {"a": [GROSS, GROSS], "b": around(SLOW) + around(SLOW)})
    assert [verdict(sequential_test, case) for case in "ab"] == [REGRESSED, REGRESSED]


def verdict_of_test(effects):
    """With the confirmation on fresh pairs."""
    sequential_test = SequentialTest({"a": Margin()})
    replay(sequential_test, {"a": effects})
    return sequential_test.cases["a"].verdict.verdict


PAIRS = 24  # the first ones, and as many fresh ones


def test_identical_code_never_regresses():
    found = shares(verdict_of_test, 1.0, PAIRS)
    assert found.get(REGRESSED, 0) <= 0.003
    assert found.get(UNCHANGED, 0) + found.get(IMPROVED, 0) >= 0.97


@pytest.mark.parametrize(("slowdown", "caught"), [(1.05, 0.94), (1.10, 0.99)])
def test_a_slowdown_is_caught(slowdown, caught):
    found = shares(verdict_of_test, slowdown, PAIRS)
    assert found.get(REGRESSED, 0) >= caught
    assert found.get(UNCHANGED, 0) <= 0.01


def test_one_percent_slower_is_unchanged_or_undecided():
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


def test_the_interval_over_pairs_has_its_nominal_coverage():
    assert 0.88 <= coverage(lambda rounds: [pair_effect(rounds)]) <= 0.97


def test_an_interval_over_pooled_rounds_would_not():
    assert coverage(lambda rounds: rounds) < 0.88


@pytest.mark.parametrize("case", sorted(EFFECTS))
def test_swapped_sides_negate_every_effect(case):
    for rounds in ROUNDS[case]:
        assert pair_effect([-value for value in rounds]) == -pair_effect(rounds)
