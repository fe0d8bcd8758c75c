"""A case on both sides: verdicts if it cannot be timed."""

from dataclasses import replace
from itertools import product

from harness.gate.outcome import INVALID, VANISHED
from tests.gate.timed.fakes import pair_of
from tests.goldens import assert_golden

STATUSES = ("", "ok", "incorrect", "crashed", "timeout", "unsupported", "oom", "skipped")


def settle_sides(mine, theirs, *, expected=False):
    made = pair_of()
    for state, status in ((made.candidate, mine), (made.base, theirs)):
        state.plan = replace(state.plan, expected=expected)
        if status:
            state.settle(status, f"{state.side} says why")
    made.resolve()
    return made


def test_verdicts_on_cases_that_cannot_be_timed():
    said = []
    for expected, mine, theirs in product((False, True), STATUSES, STATUSES):
        found = settle_sides(mine, theirs, expected=expected)
        names = f"{mine or 'runs'} of {theirs or 'runs'}{', expected' if expected else ''}"
        said.append(f"{names}: {found.verdict or 'timed'}: {found.reason}")
        assert found.unsettled is not bool(mine or theirs)
    assert_golden("gate_paired_cases.txt", "\n".join(said) + "\n")


def test_the_first_verdict_stays():
    found = settle_sides("incorrect", "", expected=True)
    found.settle(INVALID, "it died")
    assert found.verdict == VANISHED
