"""A case on both sides: how it is read, and what is said where it cannot be timed."""

import math
from dataclasses import replace

import pytest

from harness.gate.outcome import INCORRECT, INVALID, NEW, NOT_ENOUGH, REGRESSED, VANISHED
from harness.gate.timed.paired_case import BASE, CANDIDATE, LEFT_OUT
from harness.run.case.samples import KnownCall
from tests.gate.timed.fakes import pair_of


def paired(**changes):
    made = pair_of(**changes)
    for state in made.sides.values():
        state.call = KnownCall(1e-3)
    return made


def settle_sides(mine=None, theirs=None, *, expected=False):
    made = paired()
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


def test_what_can_be_timed_stays_undecided():
    assert settle_sides().living


def test_an_expected_failure_is_left_out():
    assert settle_sides("incorrect", "incorrect", expected=True).verdict == LEFT_OUT


def test_a_failure_that_has_only_now_become_expected_vanishes():
    assert settle_sides("incorrect", None, expected=True).verdict == VANISHED


def test_the_first_verdict_stays():
    made = paired()
    made.settle(INVALID, "it died")
    made.settle(REGRESSED, "later")
    assert (made.verdict, made.reason) == (INVALID, "it died")


def test_both_sides_let_go():
    made, closed = paired(), []

    class Worker:
        def __init__(self, name):
            self.name = name

        def close(self):
            closed.append(self.name)

    for state in made.sides.values():
        state.worker = Worker(state.side)
    made.settle(INVALID, "it died")
    assert closed == [CANDIDATE, BASE]
    assert made.candidate.worker is made.base.worker is None


@pytest.mark.parametrize(
    ("fast", "slow", "inner"), [(1e-3, 2e-3, 1), (5e-4, 9.0, 1), (1e-4, 1.0, 5), (1e-9, 1.0, 5000)]
)
def test_the_faster_side_says_how_often_a_call_is_repeated(fast, slow, inner):
    made = paired()
    made.candidate.call, made.base.call = KnownCall(slow), KnownCall(fast)
    made.set_inner()
    assert made.inner == inner


@pytest.mark.parametrize("wrong", [0.0, -1.0, math.nan, math.inf])
def test_a_first_call_that_took_no_time_is_a_lie(wrong):
    made = paired()
    made.base.call = KnownCall(wrong)
    made.set_inner()
    assert made.verdict == INVALID
    assert made.reason == "the base read a time that is not positive; leave the clock alone"


@pytest.mark.parametrize(("seconds", "rounds"), [(0.02, 20), (0.021, 10), (0.2, 10), (0.21, 5)])
def test_rounds_and_what_they_cost(seconds, rounds):
    made = paired()
    made.base.call = KnownCall(seconds)
    assert made.rounds == rounds
    assert made.cost_s == pytest.approx((seconds + 1e-3) * 4 * (rounds + 1))


def test_only_one_compiled_program_is_the_same_program():
    assert paired(program="sha256:a").same_program
    assert not paired(
        name="threshold", program="sha256:a"
    ).same_program  # between torch's calls there is Python
    assert not paired().same_program  # unknown is not equal
    other = paired(program="sha256:a")
    static = replace(other.base.plan.static, program="sha256:b")
    other.base.plan = replace(other.base.plan, static=static)
    assert not other.same_program
