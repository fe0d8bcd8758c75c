"""An explanation: its claim, its pairs, and what an open case would need."""

from harness.gate.outcome import NOT_ENOUGH, VANISHED, CaseVerdict
from harness.gate.report.explain import claim, print_explanation, required_pairs
from tests.gate.report.conftest import golden

OPEN = (-0.02, 0.06, 0.01, 0.05)


def open_case(**more):
    case = CaseVerdict("m/a", NOT_ENOUGH, "4 pairs spread widely", effect=0.025, pairs=4)
    return {"case": case, "first": OPEN, "fresh": (), "rounds": (), "levels_s": (), **more}


def test_the_explanation_of_a_regression(page, evidence):
    assert page(print_explanation, evidence(), 80).encode() == golden("gate_explain_80.txt")


def test_one_program_for_both_sides_accuses_the_machine(page, evidence):
    assert "a difference in time is the machine's" in page(print_explanation, evidence(same_program=True))


def test_what_was_not_timed_has_only_its_reason(page, evidence):
    gone = CaseVerdict("m/a", VANISHED, "the working tree does not have it")
    bare = {"first": (), "fresh": (), "rounds": (), "levels_s": ()}
    text = page(print_explanation, evidence(case=gone, **bare))
    assert "the working tree does not have it\nnothing was timed" in text


def test_a_confirmation_that_disagrees_is_said_to_outweigh(evidence):
    lines = claim(
        *evidence(**open_case(first=(0.048, 0.051, 0.055, 0.050), fresh=(0.001, 0.0, 0.002, 0.001)))
    )
    assert lines[-1].startswith("by these bounds alone: unchanged: the upper bound lies below +5.0 %")


def test_few_pairs_have_no_bounds(page, evidence):
    text = page(print_explanation, evidence(**open_case(first=OPEN[:2])))
    assert "mean +2.0 % over 2 pairs; bounds need at least 4 pairs" in text
    assert "smallest detectable" not in text


def test_an_open_case_says_what_would_settle_it(evidence):
    now, needs = required_pairs(*evidence(**open_case()))
    spread = "smallest detectable now, with 4 pairs that spread by 3.7 %"
    assert now == f"{spread}: a mean of +11.5 % is called regressed"
    # The mean lies 0.0003 above log(1.025) and 0.0238 below log(1.05).
    assert needs == (
        "if mean and spread stay as they are: regressed with more than 1000 pairs, out of reach, "
        "unchanged with 17 pairs; --max-pairs and --budget give more"
    )
