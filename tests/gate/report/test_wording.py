"""The sentences that all forms of a gate share."""

import math
from dataclasses import replace

import pytest

from harness.gate.outcome import (
    FAIL,
    INCORRECT,
    NEW,
    NOT_ENOUGH,
    REGRESSED,
    STATIC,
    UNCHANGED,
    VANISHED,
    WARN,
    CaseVerdict,
)
from harness.gate.report import wording
from harness.gate.report.table import gate_tables

SHARES = {5.1: "+5.1 %", -9.54: "−9.5 %", 0.04: "0.0 %", -0.04: "0.0 %", 150: "+150 %", 99.97: "+100 %"}


@pytest.mark.parametrize(("share", "text"), SHARES.items())
def test_percent(share, text):
    assert wording.percent(math.log1p(share / 100)) == text


def test_bounds_are_missing_with_few_pairs():
    case = CaseVerdict("a/b", NOT_ENOUGH, "2 pairs", effect=0.0497, pairs=2)
    assert wording.change(case) == "+5.1 %"
    assert wording.interval(case) == "–"


def test_suites_with_the_same_promise_share_its_line(outcome):
    shared, own = wording.promises(outcome([], slowdown={"mask": 0.05, "topk": 0.05, "mla": 0.1}))
    says = "{}: a slowdown of {} % is promised to be caught; regressed means more than {} % slower, "
    assert shared == says.format("mask, topk", 5, 2.5) + "confirmed on fresh pairs"
    assert own == says.format("mla", 10, 5) + "confirmed on fresh pairs"


def test_the_conclusion_counts_and_names_the_exit_code(outcome, verdict):
    cases = [verdict("m/a", REGRESSED, 3, 5, 7), verdict("m/b", UNCHANGED, -1, 0, 1)]
    assert wording.conclusion(outcome(cases)) == "regressed: 1 regressed, 1 unchanged (exit code 1)"
    gone = CaseVerdict("m/c", VANISHED, "gone")
    both = "regressed: 1 regressed, 1 vanished, 1 unchanged (exit code 1)"
    assert wording.conclusion(outcome([*cases, gone])) == both
    alone = wording.conclusion(outcome([gone, cases[1]], inconclusive=WARN))
    assert alone == "vanished: 1 vanished, 1 unchanged (exit code 3)", "leniency softens no missing case"


def test_what_is_lenient_says_so(outcome, verdict):
    cases = [verdict("m/a", NOT_ENOUGH, -3, 3, 9)]
    open_ = "not enough evidence: 1 not enough evidence"
    assert wording.conclusion(outcome(cases, inconclusive=FAIL)) == f"{open_} (exit code 3)"
    lenient = wording.conclusion(outcome(cases, inconclusive=WARN))
    assert lenient == f"{open_} (exit code 0, since --inconclusive warn)"


def test_no_cases_are_no_verdict(outcome):
    assert wording.conclusion(outcome([])) == "no case was compared, so nothing is said (exit code 3)"


def test_new_cases_alone_are_no_comparison(outcome):
    new = outcome([CaseVerdict("m/a", NEW, "the base has none")])
    assert wording.conclusion(new) == "nothing was compared: 1 new (exit code 0)"


@pytest.mark.parametrize(
    ("found", "says"),
    [(UNCHANGED, "self-check passed"), ("improved", "self-check failed"), (NOT_ENOUGH, "self-check left")],
)
def test_a_self_check_is_about_the_machine(outcome, verdict, found, says):
    checked = outcome([verdict("m/a", found, -3, -2, -1)], self_check=True)
    assert wording.conclusion(checked).startswith(says)
    assert "cannot be trusted" in wording.promises(checked)[0]
    assert wording.comparison(checked) == "self-check: the working tree against itself"


def test_next_the_largest_slowdown_is_explained(outcome, verdict):
    cases = [verdict("m/a", REGRESSED, 3, 5, 7), verdict("m/b[k=1]", REGRESSED, 8, 9, 10)]
    assert wording.next_steps(outcome(cases)) == ["regressed: seqsweep gate --last --explain 'm/b[k=1]'"]


def test_next_steps_begin_with_what_weighs_most(outcome, verdict, case_id):
    cases = [
        verdict("m/a", NOT_ENOUGH, -3, 3, 9),
        CaseVerdict(case_id("m/b", 4096), VANISHED, "gone"),
        CaseVerdict(case_id("m/c", 4096), INCORRECT, "wrong"),
        CaseVerdict(case_id("m/c", 8192), INCORRECT, "wrong"),
    ]
    steps = wording.next_steps(outcome(cases))
    assert steps[0] == "incorrect: seqsweep check m/c"
    assert [step.split(":")[0] for step in steps] == ["incorrect", "vanished", "not enough evidence"]
    assert "--max-pairs" in steps[2]


def test_static_figures_are_accepted_not_explained(outcome):
    found = outcome([CaseVerdict("m/a", REGRESSED, "temp grew")], kind=STATIC)
    (step,) = wording.next_steps(found)
    assert "accept it in bench.yaml with a reason" in step


def test_many_reasons_are_cut_aloud(outcome):
    lines = wording.left_out_lines(outcome([], left_out={f"m/{i}": f"reason {i}" for i in range(11)}))
    assert len(lines) == wording.LEFT_OUT_LINES + 1
    assert lines[-1] == "left out for other reasons, 3 more; --json has them"


def test_a_change_beyond_twofold_is_a_factor():
    slower, faster = (CaseVerdict("a/b", REGRESSED, "x", effect=sign * math.log(945)) for sign in (1, -1))
    assert (wording.change(slower), wording.change(faster)) == ("945× slower", "945× faster")
    vague = replace(slower, low=math.log(300), high=math.log(2500))
    assert wording.change(vague) == "≈900× slower"


def test_equal_code_is_one_line_and_no_row(outcome):
    cases = [CaseVerdict(f"m/a@seq={seq}:fwd:cpu", UNCHANGED, "x", same_code=True) for seq in (1, 2)]
    given = outcome(cases)
    says = "same code on both sides, so unchanged and not measured: m 2 (--all measures them)"
    assert wording.same_code_line(given) == says
    assert not gate_tables(given)
    assert wording.conclusion(given) == "unchanged: 2 unchanged (exit code 0)"
