"""Reports of a gate: whole outputs against golden files, and edge cases."""

import io
import json
import math

import pytest
from rich.console import Console

from harness.gate.outcome import (
    IMPROVED,
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
from harness.gate.output import annotations, junit, summary
from harness.gate.report import wording
from harness.gate.report.table import gate_data, gate_tables, print_explanation, print_gate
from tests.gate.report.outcomes import case_id, evidence_on, outcome_of, page, static_outcome, verdict_of
from tests.goldens import assert_golden, scenes


@pytest.mark.parametrize("width", [100, 140])
def test_the_terminal_output_of_a_gate(width):
    assert_golden(f"gate_{width}.txt", page(print_gate, outcome_of(), width))


def test_the_output_of_a_static_gate():
    assert_golden(
        "gate_static.txt", page(print_gate, static_outcome(), 100) + "\n" + summary(static_outcome())
    )


def test_junit_annotations_and_summary_of_every_verdict():
    assert_golden("gate_junit.xml", junit(outcome_of()).decode())
    assert_golden("gate_annotations.txt", "\n".join(annotations(outcome_of(), "/checkout")) + "\n")
    assert_golden("gate_summary.md", summary(outcome_of()))


def test_explanations():
    """A regression; nothing timed; a confirmation that fails; two pairs; an undecided case."""
    regression = (0.048, 0.051, 0.055, 0.050)
    bare = {"fresh": (), "rounds": ()}
    gone = CaseVerdict("m/a", VANISHED, "the working tree does not have it")
    undecided = CaseVerdict("m/a", NOT_ENOUGH, "4 pairs spread widely", effect=0.025, pairs=4)
    calm, wide = (0.001, 0.0, 0.002, 0.001), (-0.02, 0.06, 0.01, 0.05)
    cases = (
        evidence_on(),
        evidence_on(gone, first=(), **bare),
        evidence_on(undecided, **{**bare, "first": regression, "fresh": calm}),
        evidence_on(undecided, first=wide[:2], **bare),
        evidence_on(undecided, first=wide, **bare),
    )
    assert_golden("gate_explanations.txt", "\n".join(page(print_explanation, case, 100) for case in cases))


def test_every_sentence_of_an_outcome():
    slower, same, undecided = (
        verdict_of(f"m/{name}", *rest)
        for name, *rest in (
            ("a", REGRESSED, 3, 5, 7),
            ("b", UNCHANGED, -1, 0, 1),
            ("c", NOT_ENOUGH, -3, 3, 9),
        )
    )
    gone = CaseVerdict(case_id("m/d", 4096), VANISHED, "gone")
    wrong = tuple(CaseVerdict(case_id("m/e", seq), INCORRECT, "wrong") for seq in (4096, 8192))
    equal = [CaseVerdict(f"m/f@seq={seq}:fwd:cpu", UNCHANGED, "x", same_code=True) for seq in (1, 2)]
    checks = [verdict_of("m/a", found, -3, -2, -1) for found in (UNCHANGED, IMPROVED, NOT_ENOUGH)]
    outcomes = (
        outcome_of(
            [slower, same, verdict_of("m/b[k=1]", REGRESSED, 8, 9, 10)], slowdown={"mask": 0.05, "mla": 0.1}
        ),
        outcome_of([slower, same, gone]),
        outcome_of([gone, same], inconclusive=WARN),
        outcome_of([undecided]),
        outcome_of([undecided], inconclusive=WARN),
        outcome_of([undecided, gone, *wrong]),
        outcome_of([]),
        outcome_of([CaseVerdict("m/a", NEW, "the base has none")]),
        outcome_of([CaseVerdict("m/a", REGRESSED, "temp grew")], kind=STATIC),
        outcome_of(equal),
        outcome_of([same], left_out={f"m/{i}": f"reason {i}" for i in range(11)}),
        *(outcome_of([check], self_check=True) for check in checks),
    )
    assert_golden("gate_sentences.txt", "\n".join(page(print_gate, one, 140) for one in outcomes))
    assert not gate_tables(outcome_of(equal)), "equal code has no row"


def test_a_change_is_in_percent_a_factor_beyond_twofold_and_has_no_bounds_with_few_pairs():
    shares = {5.1: "+5.1 %", -9.54: "−9.5 %", 0.04: "0.0 %", -0.04: "0.0 %", 150: "+150 %", 99.97: "+100 %"}
    assert [wording.percent(math.log1p(share / 100)) for share in shares] == [*shares.values()]
    slower, faster = (CaseVerdict("a/b", REGRESSED, "x", effect=sign * math.log(945)) for sign in (1, -1))
    assert (wording.change(slower), wording.change(faster)) == ("945× slower", "945× faster")
    few = CaseVerdict("a/b", NOT_ENOUGH, "2 pairs", effect=0.0497, pairs=2)
    assert (wording.change(few), wording.interval(few)) == ("+5.1 %", "–")


def test_only_a_terminal_gets_colours():
    out = io.StringIO()
    print_gate(Console(file=out, width=120, force_terminal=True, color_system="standard"), outcome_of())
    assert "\x1b[1;31mregressed" in out.getvalue()
    assert "\x1b" not in page(print_gate, outcome_of())


def test_the_data_have_ratios_and_logarithms():
    cases = [
        verdict_of("m/a", REGRESSED, 3, 5, 7),
        CaseVerdict("m/b", NOT_ENOUGH, "none", effect=math.log(2)),
    ]
    data = json.loads(json.dumps(gate_data(outcome_of(cases))))
    first, second = data["cases"]
    assert [first[name] for name in ("ratio", "ratio_low", "ratio_high")] == pytest.approx([1.05, 1.03, 1.07])
    assert second["ratio"] == pytest.approx(2)
    assert second["ratio_low"] is None
    assert (data["verdict"], data["exit_code"]) == (REGRESSED, 1)


def test_odd_outcomes_for_ci():
    """A side that does not load; text that GitHub or XML would parse; eleven of a level; equal sides."""
    error = "git:3d602ab does not load: SyntaxError in impls/mask/scatter.py; fix it, or name another base"
    cases = [verdict_of("m/a", NOT_ENOUGH, -3, 3, 9), verdict_of("m/b", IMPROVED, -7, -5, -3)]
    odd = CaseVerdict("m/a[k=1,l=2]", INCORRECT, "50 % </pre><b>wrong</b>:\r\nall, of them", file="a:b,c.py")
    unseen = CaseVerdict("m/a", INCORRECT, "\x1b[31m<wrong>\x00 & \ud800]]>\x1b[0m")
    regressed = [verdict_of(f"m/{i}", REGRESSED, 3, 5, 7) for i in range(11)]
    outcomes = {
        "a side that does not load": outcome_of([], broken=error),
        "text that would be parsed": outcome_of([odd]),
        "control characters": outcome_of([unseen]),
        "eleven of a level": outcome_of(regressed),
        "undecided": outcome_of(cases),
        "undecided with --inconclusive warn": outcome_of(cases, inconclusive=WARN),
        "a difference between equal sides": outcome_of(cases, self_check=True),
    }
    texts = {
        name: "\n".join([*annotations(one), junit(one).decode(), summary(one)])
        for name, one in outcomes.items()
    }
    assert_golden("gate_odd_outcomes.txt", scenes(texts))
    assert len(annotations(outcomes["eleven of a level"])) == 10, "GitHub shows no more"
