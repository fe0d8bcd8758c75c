"""Verdicts made by hand, as they stand on a terminal and in JSON."""

import json
from pathlib import Path

import pytest
from rich.console import Console

from harness.claims.report import claims_data, print_claims, totals
from tests.claims.judged import ALL, BESIDE, MEMORY

GOLDEN = Path(__file__).parents[1] / "golden"


def test_totals_are_in_the_order_of_the_verdicts_and_context_is_not_counted():
    assert totals(ALL) == (
        "7 claims: 1 contradicted, 1 implausible, 1 inconsistent, 1 reproduced, "
        "1 reproduced on another target, 2 not checkable here; 1 more for context"
    )
    assert totals([MEMORY]) == "1 claim: 1 reproduced"
    assert totals([BESIDE]) == "0 claims; 1 more for context"
    assert totals([]) == "0 claims"


def render(verdicts, width=140):
    console = Console(width=width, record=True, file=open("/dev/null", "w"), highlight=False)  # noqa: SIM115, PTH123
    with console.file:
        print_claims(console, verdicts)
        return console.export_text()


@pytest.mark.parametrize("width", [60, 80, 200])
def test_it_fits_the_terminal(width):
    assert max(len(line) for line in render(ALL, width).splitlines()) <= width


def test_a_table_of_verdicts():
    text = "\n".join(line.rstrip() for line in render(ALL, 260).splitlines()) + "\n"
    assert text == (GOLDEN / "claims_260.txt").read_text(encoding="utf-8")


def test_what_leaves_the_program_is_exact_and_plain():
    """Others read the keys: one that goes, or is renamed, breaks what they wrote."""
    lines = [json.dumps(one, ensure_ascii=False) for one in claims_data(ALL)["claims"]]
    assert lines == (GOLDEN / "claims.jsonl").read_text(encoding="utf-8").splitlines()
