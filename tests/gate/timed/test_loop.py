"""A gate's loop with the real test: which cases continue, a process that ends, and the budget."""

import math
from dataclasses import replace

import pytest

from harness.core.errors import SideError
from harness.gate.outcome import IMPROVED, INVALID, NOT_ENOUGH, REGRESSED, UNCHANGED
from harness.gate.timed import loop
from harness.run.processes.executor import Ended
from tests.gate.timed.fakes import World, program
from tests.run.fakes import MIB, Act, acting, at
from tests.run.plans import SETTINGS

BOTH = ("scatter", "threshold")
JUDGED = ("candidate:threshold/1", "base:threshold/1", "candidate:threshold/2", "base:threshold/2")


@pytest.fixture(autouse=True)
def _no_interference(monkeypatch):
    class Undisturbed:
        def __init__(self, device):
            pass

        def look(self):
            pass

        def warnings(self):
            return ["steal"]

    monkeypatch.setattr(loop, "Interference", Undisturbed)


def state(world, name="scatter"):
    return world.sequential_test.cases[world.paired(name).id]


def test_each_case_runs_until_it_is_decided(tmp_path):
    acts = {"scatter": Act(seconds=1.2e-3), "plain": Act(seconds=0.8e-3)}
    world = World(tmp_path, acts, names=("scatter", "threshold", "plain"))
    result = world.loop()
    verdicts = {name: state(world, name).latest.verdict for name in ("scatter", "threshold", "plain")}
    assert verdicts == {"scatter": REGRESSED, "threshold": UNCHANGED, "plain": IMPROVED}
    assert state(world).latest.effect == pytest.approx(math.log(1.2))
    assert world.pairs_of("scatter") == [1, 2, 3, 4, 5, 6, 7, 8]  # four more confirm it
    assert world.pairs_of("threshold") == world.pairs_of("plain") == [1, 2, 3, 4]
    assert world.opened == ["candidate", "base", "base", "candidate"] * 4
    assert result.disturbances == ["steal"]
    assert not world.processes
    assert world.executor.living == []


@pytest.mark.parametrize("verb", ["prepare", "check", "ready", "sample", "judged"])
@pytest.mark.parametrize("side", ["candidate", "base"])
def test_a_process_that_ends_costs_the_other_cases_only_this_pair(tmp_path, side, verb):
    world = World(
        tmp_path, **{side: {"scatter": acting(verb, Ended("crashed", "killed by SIGSEGV"))}}, names=BOTH
    )
    world.loop()
    assert world.paired().verdict == INVALID
    assert world.paired().reason == f"the {side} ended its process: killed by SIGSEGV"
    assert state(world, "threshold").verdict.verdict == UNCHANGED
    assert world.pairs_of("scatter") == []
    assert world.pairs_of("threshold") == [1, 2, 3, 4]
    assert world.opened[:4] == ["candidate", "base"] * 2  # the first pair once more
    judged = [world.executor.judged(result) for result in JUDGED]
    assert judged[:2] == [1, 1]
    assert set(judged[2:]) <= {2, 3}, "once more in the pair that was lost"
    assert set(world.sequential_test.cases) == {world.paired("threshold").id}


def test_a_process_that_ends_in_a_later_pair_keeps_earlier_pairs(tmp_path):
    act = {"scatter": Act(verbs={"ready": at(3, Ended("timeout", "no reply within 60 s"))})}
    world = World(tmp_path, act, names=BOTH)
    world.loop()
    assert world.paired().verdict == INVALID
    assert world.pairs_of("scatter") == [1, 2]
    assert world.pairs_of("threshold") == [1, 2, 3, 4]


def test_each_case_is_verified_twice_in_all(tmp_path):
    world = World(tmp_path, {"scatter": Act(seconds=1.2e-3)}, names=BOTH)
    world.loop()
    assert [world.executor.judged(result) for result in JUDGED] == [1, 1, 2, 2]
    assert world.executor.judged("candidate:scatter/1") == 1
    assert world.executor.judged("candidate:scatter/2") == 2
    assert world.executor.verbs("reference").count("inputs") == 1


def test_cases_that_do_not_fit_in_memory_together_have_separate_processes(tmp_path):
    world = World(tmp_path, names=(*BOTH, "plain"), settings=replace(SETTINGS, memory_bytes=5 * MIB))
    world.loop()
    assert world.opened == ["candidate", "base", "base", "candidate"] * 4
    for name, pairs in {"scatter": [1, 2, 3, 4], "threshold": [1, 2, 3, 4], "plain": [5, 6, 7, 8]}.items():
        assert world.pairs_of(name) == pairs
        assert state(world, name).verdict.verdict == UNCHANGED


def test_an_expensive_case_does_not_delay_cheaper_ones(tmp_path):
    acts = {"scatter": Act(seconds=0.21), "threshold": Act(seconds=0.21), "plain": Act(seconds=0.3)}
    world = World(tmp_path, acts, acts, names=("plain", "scatter", "threshold"))
    world.loop(budget_s=115.0)  # plain would fit, but only without the others
    assert state(world).verdict.verdict == state(world, "threshold").verdict.verdict == UNCHANGED
    assert world.pairs_of("plain") == []
    assert world.clock() < 115.0


def test_a_case_with_an_expensive_check_does_not_delay_others(tmp_path):
    slow = {"plain": Act(seconds=60.0)}
    world = World(tmp_path, slow, slow, names=("plain", *BOTH))
    world.loop(budget_s=200.0)
    assert state(world).verdict.verdict == state(world, "threshold").verdict.verdict == UNCHANGED
    assert world.pairs_of("plain") == []
    assert world.verbs("candidate", "plain").count("check") == 1


def test_a_slow_first_compilation_does_not_count_against_later_pairs(tmp_path):
    world = World(tmp_path, names=("scatter", "threshold", "plain"))

    def dear_at_first():
        costs = iter([10.0])

        def prepare(_):
            world.clock.now += next(costs, 0.0)
            return {}

        return Act(verbs={"prepare": prepare})

    for acts in world.acts.values():
        acts |= {name: dear_at_first() for name in ("scatter", "threshold", "plain")}
    world.loop(budget_s=120.0)
    assert world.sequential_test.undecided() == set()
    assert world.clock() < 120.0


def test_a_slow_call_that_was_thirty_times_faster_is_regressed_in_a_budget_of_two_pairs(tmp_path):
    sides = {"candidate": {"scatter": Act(seconds=3.0)}, "base": {"scatter": Act(seconds=0.1)}}
    world = World(tmp_path, **sides)
    world.loop(budget_s=300.0)
    assert state(world).verdict.verdict == REGRESSED
    assert world.pairs_of("scatter") == [1, 2]


def test_a_tiny_budget_ends_after_one_pair(tmp_path):
    world = World(tmp_path, names=BOTH, seqs=(1024, 2048))
    world.loop(budget_s=1e-6)
    assert world.opened == ["candidate", "base"]
    assert world.lines == []
    assert {entry.latest.verdict for entry in world.sequential_test.cases.values()} == {NOT_ENOUGH}
    assert not world.processes


def test_a_case_with_the_same_program_is_analysed_once(tmp_path):
    acts = {"scatter": Act(seconds=1.5e-3, verbs={"prepare": program("sha256:a")})}
    base = {"scatter": Act(verbs={"prepare": program("sha256:a")})}
    world = World(tmp_path / "one", acts, base)
    world.loop(demotes_same_program=True)
    assert world.pairs_of("scatter") == [1, 2, 3, 4]
    again = World(tmp_path / "other", acts, base)
    again.loop()
    assert again.pairs_of("scatter") == [1, 2, 3, 4, 5, 6, 7, 8]


@pytest.mark.parametrize("raised", [KeyboardInterrupt(), SideError("loaded from elsewhere")])
@pytest.mark.parametrize(
    ("side", "verb", "number", "kept"),
    [
        ("candidate", "prepare", 3, [1, 2]),
        ("base", "prepare", 1, []),
        ("candidate", "check", 1, []),
        ("base", "sample", 50, [1, 2]),
    ],
)
def test_an_interruption_keeps_earlier_pairs_and_ends_every_process(
    tmp_path, raised, side, verb, number, kept
):
    world = World(tmp_path, **{side: {"scatter": Act(verbs={verb: at(number, raised)})}}, names=BOTH)
    with pytest.raises(type(raised)):
        world.loop()
    assert world.pairs_of("threshold") == kept
    assert not world.processes
    assert all(state.worker is None for paired in world.paired_cases for state in paired.sides.values())
    assert not world.shared.verifiers


def test_progress_shows_undecided_cases_and_the_time_left(tmp_path):
    world = World(tmp_path, {"scatter": Act(seconds=1.2e-3)}, names=BOTH)
    lines = []
    world.shared.run.listener.message = lines.append
    world.loop()
    opened = [text.partition(", at most ")[0] for text in lines]
    assert opened == [f"pair {number}: undecided {2 if number <= 4 else 1}" for number in range(1, 9)]
    assert all(text.endswith(" left") for text in lines)
