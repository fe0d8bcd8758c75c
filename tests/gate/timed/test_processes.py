"""Processes of a gate's sides, their cases, and an interpreter that does not start."""

import pytest

from harness.core.errors import MachineError, SideError, Unsupported
from harness.gate.sides.side import Side
from harness.gate.timed.processes import GateExecutor, SideProcess
from harness.run.processes.executor import Ended
from tests.gate.timed.fakes import World
from tests.run.fakes import FakeExecutor
from tests.run.plans import catalog

SIDE = Side("base", "git:1a2", catalog())


class Scripted:
    """Worker with scripted replies; `asked` are its requests."""

    def __init__(self, *answers):
        self.answers, self.asked, self.closed = list(answers), [], 0

    def ask(self, verb, seconds, **arguments):
        self.asked.append((verb, arguments))
        answer = self.answers.pop(0) if self.answers else {}
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def close(self):
        self.closed += 1


def process_of(worker):
    return SideProcess(SIDE, lambda: worker, lambda: None)


def test_a_side_stays_dead_after_its_process_has_ended():
    ends = (Ended("crashed", "x", alive=alive) for alive in (True, False, True))
    process = process_of(Scripted(*ends))
    for dead in (False, True, True):
        with pytest.raises(Ended):
            process.ask("turn", 1.0)
        assert process.dead is dead


def test_cases_share_their_sides_process_and_references_have_separate_ones(tmp_path):
    references = FakeExecutor()
    executor = GateExecutor(references)
    workers = {"candidate": Scripted(), "base": Scripted()}
    executor.processes = {name: process_of(worker) for name, worker in workers.items()}
    world = World(tmp_path)
    world.shared.run.executor = executor
    context, both_sides = world.paired().context, world.paired().sides
    for state in both_sides.values():
        context.spawn("case", "jax", state)
    context.spawn("reference", "numpy", both_sides["candidate"])
    assert [len(worker.asked) for worker in workers.values()] == [1, 1]
    held = {worker.asked[0][1]["case"] for worker in workers.values()}
    assert len(held) == 2
    assert [one.role for one, _ in references.jobs] == ["reference"]
    executor.close()
    assert references.closed


@pytest.mark.parametrize("raised", [MachineError("no server"), Unsupported("no torch"), OSError(24, "Full")])
def test_an_interpreter_that_does_not_start_is_a_side_that_does_not_load(raised):
    def fork():
        raise raised

    stopped = []
    process = SideProcess(SIDE, fork, lambda: stopped.append(1))
    with pytest.raises(SideError) as caught:
        process.ask("hold", 1.0)
    assert str(caught.value) == f"the base (git:1a2) does not load: {raised}"
    process.close()
    assert stopped == [1]
