"""A case on both sides: how it is read, and what is said where it cannot be timed."""

from dataclasses import replace

import pytest

from harness.gate.outcome import INCORRECT, INVALID, NEW, NOT_ENOUGH, REGRESSED, VANISHED
from harness.gate.timed.paired_case import LEFT_OUT
from tests.gate.timed.fakes import pair_of


def settle_sides(mine=None, theirs=None, *, expected=False):
    made = pair_of()
    for state, status in ((made.candidate, mine), (made.base, theirs)):
        state.plan = replace(state.plan, expected=expected)
        if status:
            state.settle(status, f"{state.side} says why")
    made.resolve()
    return made


WORDS = [
    ("incorrect", None, INCORRECT, "candidate says why"),
    ("ok", None, INCORRECT, "candidate says why"),
    ("crashed", None, INVALID, "the candidate's is crashed: candidate says why"),
    ("crashed", "crashed", LEFT_OUT, "on both sides crashed: candidate says why"),
    ("timeout", None, INVALID, "the candidate's is timeout: candidate says why"),
    ("unsupported", None, VANISHED, "the base runs it, the candidate refuses: candidate says why"),
    ("unsupported", "unsupported", LEFT_OUT, "on both sides unsupported: candidate says why"),
    ("unsupported", "crashed", LEFT_OUT, "candidate says why"),
    ("unsupported", "oom", LEFT_OUT, "candidate says why"),
    ("oom", None, REGRESSED, "the base fits, the candidate does not: candidate says why"),
    ("oom", "oom", LEFT_OUT, "on both sides oom: candidate says why"),
    ("oom", "unsupported", LEFT_OUT, "candidate says why"),
    ("skipped", None, NOT_ENOUGH, "candidate says why"),
    ("skipped", "skipped", NOT_ENOUGH, "candidate says why"),
    (None, "crashed", NEW, "the base's is crashed (base says why): nothing to compare with"),
    (None, "incorrect", NEW, "the base's is incorrect (base says why): nothing to compare with"),
    (None, "oom", NEW, "the base's is oom (base says why): nothing to compare with"),
    (None, "unsupported", NEW, "the base's is unsupported (base says why): nothing to compare with"),
]


@pytest.mark.parametrize(("mine", "theirs", "verdict", "reason"), WORDS)
def test_what_cannot_be_timed(mine, theirs, verdict, reason):
    found = settle_sides(mine, theirs)
    assert (found.verdict, found.reason) == (verdict, reason)
    assert not found.living


def test_a_failure_that_is_expected_and_the_first_verdict_stays():
    assert settle_sides("incorrect", "incorrect", expected=True).verdict == LEFT_OUT
    found = settle_sides("incorrect", None, expected=True)
    assert found.verdict == VANISHED, "it has only now become expected"
    found.settle(INVALID, "it died")
    assert found.verdict == VANISHED
