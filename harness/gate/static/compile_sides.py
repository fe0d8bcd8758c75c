"""Compile every case on both sides and hold it to its contract; no clock is read."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from harness.core.protocol import Job
from harness.gate.sides.side import Side
from harness.gate.timed.paired_case import CANDIDATE
from harness.gate.timed.setup import PROVENANCE, Opponents, open_group
from harness.run.case.case_state import CaseState
from harness.run.events import Listener
from harness.run.group.group_run import GroupRun
from harness.run.group.run_context import RunContext
from harness.run.processes.executor import Executor, Worker
from harness.run.processes.worker_process import Processes
from harness.sweep.schedule import Group


class BySide:
    """The executor of both sides: a case runs in its own side's processes, a reference in the candidate's."""

    def __init__(self, processes: Mapping[str, Executor]) -> None:
        self.processes = processes

    def spawn(self, job: Job, limit_bytes: int) -> Worker:
        return self.processes[job.side if job.role == "case" and job.side else CANDIDATE].spawn(
            job, limit_bytes
        )

    def close(self) -> None:
        for processes in self.processes.values():
            processes.close()


def compile_sides(
    groups: Sequence[Group], opponents: Opponents, sides: Mapping[str, Side], listener: Listener
) -> dict[str, dict[str, CaseState]]:
    """The settled states by the candidate's case id, then by side; one side where there is no counterpart."""
    catalog = sides[CANDIDATE].catalog
    states: dict[str, dict[str, CaseState]] = {}
    with ExitStack() as stack:
        processes: dict[str, Processes] = {}
        for name, side in sides.items():
            frameworks = _frameworks(opponents, sides, name)
            processes[name] = Processes(frameworks, "cpu", interpreter=side.interpreter, path=side.path)
            stack.callback(processes[name].close)
        executor = BySide(processes)
        folder = processes[CANDIDATE].folder
        run = RunContext(executor, catalog, PROVENANCE, listener, folder, depth="check")
        for index, group in enumerate(groups):
            context, both_sides = open_group(group, opponents, sides, run)
            if not both_sides:
                continue
            listener.group_started(index, group.key, [pair[CANDIDATE].id for pair in both_sides], None)
            records = GroupRun(context).run()
            listener.group_finished(records, None)
            states |= {pair[CANDIDATE].id: pair for pair in both_sides}
    return states


def _frameworks(opponents: Opponents, sides: Mapping[str, Side], name: str) -> list[str]:
    catalog = sides[name].catalog
    cases = [case if name == CANDIDATE else theirs for case, theirs in opponents.items()]
    needed = {catalog.implementation(case.implementation).framework for case in cases if case is not None}
    if name == CANDIDATE:
        needed |= catalog.reference_frameworks({case.implementation for case in opponents})
    return sorted(needed)
