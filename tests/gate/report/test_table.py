"""The page of a gate: whole against files that a person has read, and at its edges."""

import io
import json
import math

import pytest
from rich.console import Console

from harness.gate.outcome import NOT_ENOUGH, REGRESSED, CaseVerdict
from harness.gate.report.table import gate_data, print_gate
from tests.gate.report.conftest import golden


@pytest.mark.parametrize("width", [80, 100, 140])
def test_the_page_of_a_gate(page, outcome, width):
    assert page(print_gate, outcome(), width).encode() == golden(f"gate_{width}.txt")


def test_a_side_that_does_not_load_is_all_that_is_said(page, outcome):
    said = "git:3d602ab does not load: SyntaxError in impls/mask/scatter.py; mend it or name another side"
    assert page(print_gate, outcome(broken=said), 80) == f"{said}\n"


def test_a_terminal_gets_colours_and_a_pipe_none(page, outcome):
    out = io.StringIO()
    print_gate(Console(file=out, width=120, force_terminal=True, color_system="standard"), outcome())
    assert "\x1b[1;31mregressed" in out.getvalue()
    assert "\x1b" not in page(print_gate, outcome())


def test_the_data_have_ratios_beside_logarithms(outcome, verdict):
    cases = [verdict("m/a", REGRESSED, 3, 5, 7), CaseVerdict("m/b", NOT_ENOUGH, "none", effect=math.log(2))]
    data = json.loads(json.dumps(gate_data(outcome(cases))))
    first, second = data["cases"]
    assert [first[name] for name in ("ratio", "ratio_low", "ratio_high")] == pytest.approx([1.05, 1.03, 1.07])
    assert second["ratio"] == pytest.approx(2)
    assert second["ratio_low"] is None
    assert (data["verdict"], data["exit_code"]) == (REGRESSED, 1)
