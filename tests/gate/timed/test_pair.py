"""One pair of processes: what is put in place, judged and left out before any clock is read."""

from dataclasses import replace

import pytest

from harness.core.errors import SideError, Unsupported
from harness.gate.outcome import INCORRECT, INVALID, NEW, NOT_ENOUGH, REGRESSED, VANISHED
from harness.gate.timed.context import Lost
from harness.gate.timed.paired_case import LEFT_OUT
from harness.run.machine.device_memory import DeviceMemory
from harness.run.processes.executor import Ended
from tests.gate.timed.fakes import World
from tests.run.fakes import MIB, Act, at
from tests.run.plans import SETTINGS

BOTH = ("scatter", "threshold")


def raise_in(verb, raised):
    return {"scatter": Act(verbs={verb: raised})}


def crash():
    return Ended("crashed", "ValueError: x", alive=True)


BROKEN = [
    ("prepare", Unsupported("needs AMX"), None, VANISHED),
    ("prepare", Unsupported("needs AMX"), Unsupported("needs AMX"), LEFT_OUT),
    ("prepare", None, Unsupported("needs AMX"), NEW),
    ("prepare", crash(), None, INVALID),
    ("prepare", None, crash(), NEW),
    ("check", crash(), None, INVALID),
    ("check", None, crash(), NEW),
    ("ready", crash(), None, INVALID),
    ("ready", None, crash(), NEW),
    ("ready", Ended("oom", "MemoryError", alive=True), None, REGRESSED),
]


@pytest.mark.parametrize(("verb", "mine", "theirs", "verdict"), BROKEN)
def test_a_case_that_cannot_be_timed_leaves_the_others_alone(tmp_path, verb, mine, theirs, verdict):
    world = World(tmp_path, raise_in(verb, mine or {}), raise_in(verb, theirs or {}), names=BOTH)
    assert set(world.rounds()) == {"threshold"}
    assert world.paired().verdict == verdict
    assert "sample" not in world.verbs("candidate") + world.verbs("base")
    assert not world.processes


@pytest.mark.parametrize(
    ("wrong", "verdict"), [(["candidate"], INCORRECT), (["base"], NEW), (["candidate", "base"], INCORRECT)]
)
def test_contract_before_clock(tmp_path, wrong, verdict):
    world = World(tmp_path, wrong=[f"{side}:scatter/1" for side in wrong])
    assert world.end()[0] == verdict
    assert "sample" not in world.verbs("candidate") + world.verbs("base")


def test_an_expected_failure_on_both_sides_is_left_out(tmp_path):
    act = {"scatter": Act(expected="the first text")}
    world = World(tmp_path, act, act, wrong=["candidate:scatter/1", "base:scatter/1"])
    assert world.end() == (LEFT_OUT, "3 elements differ; expected: the first text")


def test_an_expected_failure_that_passes_is_incorrect(tmp_path):
    act = {"scatter": Act(expected="a claim")}
    world = World(tmp_path, act, act)
    assert world.end() == (INCORRECT, "expected to be incorrect (a claim), but its contract passed")


@pytest.mark.parametrize(
    ("mine", "theirs", "verdict"), [(2000, 1, REGRESSED), (2000, 2000, LEFT_OUT), (1, 2000, NEW)]
)
def test_what_is_planned_beyond_the_limit(tmp_path, mine, theirs, verdict):
    world = World(tmp_path, {"scatter": Act(planned=mine * MIB)}, {"scatter": Act(planned=theirs * MIB)})
    assert world.end()[0] == verdict
    assert "check" not in world.verbs("candidate") + world.verbs("base")


def test_what_fits_alone_but_not_beside_its_opponent(tmp_path):
    world = World(tmp_path, settings=replace(SETTINGS, memory_bytes=3 * MIB // 2))
    why = "both sides together plan 2.00 MiB; the limit is 1.50 MiB: raise --memory"
    assert world.end() == (NOT_ENOUGH, why)


def test_on_a_gpu_the_contexts_of_both_sides_and_of_the_references_count(tmp_path):
    world = World(tmp_path, settings=replace(SETTINGS, memory_bytes=9 * MIB))
    memory = DeviceMemory(4 * MIB, MIB)
    world.shared.run.device_memory = {world.shared.device: memory}
    why = "both sides together plan 5.00 MiB; the limit is 4.00 MiB: raise --memory"
    assert world.end() == (NOT_ENOUGH, why)


def test_different_clocks_are_not_compared(tmp_path):
    world = World(tmp_path, raise_in("ready", {"method": "cuda_events"}))
    why = "timed by cuda_events, the base by wall: different clocks are not compared"
    assert world.end() == (INVALID, why)


def test_a_first_call_that_claims_no_time(tmp_path):
    world = World(tmp_path, raise_in("check", {"seconds": 0.0}), names=BOTH)
    assert set(world.rounds()) == {"threshold"}
    assert world.paired().verdict == INVALID


@pytest.mark.parametrize("side", ["candidate", "base"])
def test_a_process_that_ends_when_all_is_compiled_again_is_lost(tmp_path, side):
    world = World(tmp_path, **{side: raise_in("prepare", at(2, Ended("crashed", "SIGSEGV")))}, names=BOTH)
    world.pair(1)
    with pytest.raises(Lost):
        world.pair(2)
    assert world.paired().verdict == INVALID
    assert world.paired("threshold").living


def test_what_is_too_long_by_its_shorter_lengths_is_not_called(tmp_path):
    act = {"scatter": Act(seconds=lambda seq: 1e-9 * seq**3, formula=1.0)}
    world = World(tmp_path, act, act, seqs=(128, 256, 512))
    world.shared.budget_s = 15.0
    rounds, _ = world.pair()
    assert [found.case for found in rounds] == [world.paired(seq=seq).id for seq in (128, 256)]
    assert world.paired(seq=512).verdict == NOT_ENOUGH
    assert world.paired(seq=512).reason == (
        "predicted 134 ms a call (exponent 3.00, from shorter lengths), 26 s for the fewest pairs: "
        "raise --budget, or leave it out with --cases"
    )


def test_a_failing_judge_decides_what_it_should_have_judged(tmp_path):
    world = World(tmp_path)
    world.executor.reference = Act(verbs={"inputs": Ended("oom", "too large", alive=True)})
    assert world.end()[0] == NOT_ENOUGH
    assert "the inputs of family mask cannot be computed" in world.paired().reason


def test_a_side_that_does_not_start_ends_the_other(tmp_path):
    world = World(tmp_path)
    world.opening["base"] = SideError("the base (git:1a2) does not start")
    with pytest.raises(SideError, match="does not start"):
        world.pair()
    assert world.opened == ["candidate", "base"]
    assert not world.processes


def test_a_process_that_ends_between_its_cases_is_nobodys_fault(tmp_path):
    world = World(tmp_path)
    world.process_acts["base", "release"] = Ended("crashed", "killed by SIGSEGV")
    with pytest.raises(SideError, match=r"a process of the base \(git:1a2\) cannot go on: killed by SIGSEGV"):
        world.pair()
    assert world.paired().living
    assert not world.processes
