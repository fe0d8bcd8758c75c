"""One pair of processes: compilation, verification and refusals before timing."""

from dataclasses import replace

import pytest

from harness.core.errors import SideError, Unsupported
from harness.gate.outcome import INVALID, NOT_ENOUGH
from harness.gate.timed.paired_case import ProcessEnded
from harness.run.machine.device_memory import DeviceMemory
from harness.run.processes.executor import Ended
from tests.gate.timed.fakes import World
from tests.goldens import assert_golden, scenes
from tests.run.fakes import MIB, Act, at
from tests.run.plans import SETTINGS

BOTH = ("scatter", "threshold")


def crash():
    return Ended("crashed", "ValueError: x", alive=True)


def raising(verb, mine=None, theirs=None):
    """Acts of both sides that raise or reply with this."""
    return [{"scatter": Act(verbs={verb: raised or {}})} for raised in (mine, theirs)]


def expecting(why):
    return [{"scatter": Act(expected=why)}] * 2


def planning(mine, theirs):
    return [{"scatter": Act(planned=size * MIB)} for size in (mine, theirs)]


REFUSED, WRONG = Unsupported("needs AMX"), ("candidate:scatter/1", "base:scatter/1")
# (the acts of both sides, more of the world)
WORLDS = {
    "the candidate refuses": (raising("prepare", REFUSED), {}),
    "both refuse": (raising("prepare", REFUSED, REFUSED), {}),
    "the base refuses": (raising("prepare", None, REFUSED), {}),
    "the candidate crashes as it compiles": (raising("prepare", crash()), {}),
    "the base crashes as it compiles": (raising("prepare", None, crash()), {}),
    "the candidate crashes at its first call": (raising("check", crash()), {}),
    "the base crashes at its first call": (raising("check", None, crash()), {}),
    "the candidate crashes with its inputs": (raising("ready", crash()), {}),
    "the base crashes with its inputs": (raising("ready", None, crash()), {}),
    "the candidate's inputs do not fit": (raising("ready", Ended("oom", "MemoryError", alive=True)), {}),
    "other clocks": (raising("ready", {"method": "cuda_events"}), {}),
    "a first call without a time": (raising("check", {"seconds": 0.0}), {}),
    "the candidate is wrong": ([None, None], {"wrong": WRONG[:1]}),
    "the base is wrong": ([None, None], {"wrong": WRONG[1:]}),
    "both are wrong": ([None, None], {"wrong": WRONG}),
    "both are wrong, as expected": (expecting("the first text"), {"wrong": WRONG}),
    "an expected failure passes": (expecting("a claim"), {}),
    "the candidate plans too much": (planning(2000, 1), {}),
    "both plan too much": (planning(2000, 2000), {}),
    "the base plans too much": (planning(1, 2000), {}),
    "both fit, but not together": (planning(600, 600), {}),
}


def test_a_case_that_cannot_be_timed_does_not_affect_others(tmp_path):
    said = {}
    for name, (acts, more) in WORLDS.items():
        world = World(tmp_path / name.replace(" ", "-"), *acts, names=BOTH, **more)
        assert set(world.results()) == {"threshold"}, name
        asked = world.verbs("candidate") + world.verbs("base")
        assert "sample" not in asked
        assert not world.processes
        checked = "" if "check" in asked else ", no call"
        said[name] = f"{world.paired().verdict}: {world.paired().reason}{checked}"
    assert_golden("gate_pairs.txt", scenes(said))


def test_on_a_gpu_the_contexts_of_both_sides_and_of_the_references_count(tmp_path):
    world = World(tmp_path, settings=replace(SETTINGS, memory_bytes=9 * MIB))
    memory = DeviceMemory(4 * MIB, MIB)
    world.shared.run.device_memory = {world.shared.device: memory}
    why = "both sides together plan 5.00 MiB; the limit is 4.00 MiB: raise --memory"
    assert world.end() == (NOT_ENOUGH, why)


@pytest.mark.parametrize("side", ["candidate", "base"])
def test_a_process_may_end_while_it_compiles_again(tmp_path, side):
    world = World(tmp_path, **{side: raising("prepare", at(2, Ended("crashed", "SIGSEGV")))[0]}, names=BOTH)
    world.pair(1)
    with pytest.raises(ProcessEnded):
        world.pair(2)
    assert world.paired().verdict == INVALID
    assert world.paired("threshold").unsettled


def test_a_case_predicted_to_exceed_the_budget_is_not_called(tmp_path):
    act = {"scatter": Act(seconds=lambda seq: 1e-9 * seq**3, formula=1.0)}
    world = World(tmp_path, act, act, seqs=(128, 256, 512))
    world.shared.budget_s = 15.0
    rounds, _ = world.pair()
    assert [found.case for found in rounds] == [world.paired(seq=seq).id for seq in (128, 256)]
    assert world.paired(seq=512).verdict == NOT_ENOUGH
    assert world.paired(seq=512).reason == (
        "predicted 134 ms per call (exponent 3.00, from shorter lengths), 26 s for the fewest pairs: "
        "raise --budget, or exclude it with --cases"
    )


def test_a_failing_reference_worker_decides_its_cases(tmp_path):
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


def test_a_process_that_ends_between_cases_is_an_error_of_its_side(tmp_path):
    world = World(tmp_path)
    world.process_acts["base", "release"] = Ended("crashed", "killed by SIGSEGV")
    with pytest.raises(SideError, match=r"a process of the base \(git:1a2\) failed: killed by SIGSEGV"):
        world.pair()
    assert world.paired().unsettled
    assert not world.processes
