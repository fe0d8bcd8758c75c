"""A group on an accelerator: contexts are created side by side, and inputs are drawn meanwhile."""

from threading import Barrier, Event

import pytest

from harness.core.case import Case
from harness.core.errors import Unsupported
from harness.run.case.case_state import NOT_REACHED
from harness.run.group.group_run import Interrupted
from harness.run.processes.executor import Ended
from harness.sweep.schedule import Group
from tests.run.fakes import Act, FakeExecutor
from tests.run.plans import SETTINGS, measure

COMPILED, TRACED = ("broadcast", "scatter"), ("threshold", "plain")
PATIENCE = 60.0  # seconds until a barrier that is never reached breaks


def group_on_cuda(*names):
    cases = tuple(Case.of(f"mask/{name}", {}, {"rows": 4, "seq": 1024}, "fwd", "cuda") for name in names)
    return Group(cases[0].group, cases, {case.id: () for case in cases}, SETTINGS)


def test_contexts_are_created_concurrently_while_inputs_are_drawn(tmp_path):
    together = Barrier(len(TRACED) + 1)

    def meet(_):
        together.wait(PATIENCE)
        return {}

    acts = {name: Act(verbs={"prepare": meet}) for name in TRACED}
    executor = FakeExecutor(acts, reference=Act(verbs={"inputs": meet}))
    found = measure(executor, tmp_path, group_on_cuda(*COMPILED, *TRACED))
    assert {record.status for record in found.values()} == {"ok"}
    assert executor.verbs("reference").count("inputs") == 1


def test_tuned_programs_are_compiled_last_and_not_concurrently(tmp_path):
    executor = FakeExecutor()
    measure(executor, tmp_path, group_on_cuda(*COMPILED, *TRACED))
    prepared = [name for name, _, verb, _ in executor.asked if verb == "prepare"]
    assert prepared[len(TRACED) :] == list(COMPILED)


def test_ctrl_c_during_compilation_crashes_no_case(tmp_path):
    killed = Event()

    def wait_until_killed(_):
        assert killed.wait(PATIENCE)
        return Ended("crashed", "killed by SIGKILL", output="what it printed")

    executor = FakeExecutor({"plain": Act(verbs={"prepare": wait_until_killed})})
    executor.stop = (1, KeyboardInterrupt())  # by the first that is asked anything; the others may have begun
    executor.killed = killed.set
    with pytest.raises(Interrupted) as stopped:
        measure(executor, tmp_path, group_on_cuda(*COMPILED, *TRACED))
    assert {(record.status, record.reason) for record in stopped.value.records} == {("skipped", NOT_REACHED)}


def test_a_group_that_no_framework_can_run_needs_no_reference(tmp_path):
    refused = Act(verbs={"prepare": Unsupported("torch finds no CUDA device")})
    found = measure(FakeExecutor(dict.fromkeys(TRACED, refused)), tmp_path, group_on_cuda(*TRACED))
    assert {record.status for record in found.values()} == {"unsupported"}
