"""A dry run: its cases, the compiler's plan for each, and how long each may take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.catalog.catalog import Catalog
from harness.run.group.case_state import CaseState
from harness.run.group.events import Listener
from harness.run.group.group_context import GroupContext
from harness.run.group.group_run import GroupRun
from harness.run.group.run_context import Provenance, RunContext
from harness.run.processes.worker_process import Processes
from harness.sweep.schedule import Schedule
from harness.sweep.settings import Settings


@dataclass(frozen=True)
class PlannedCase:
    """`seconds` is the wall time the case took in a stored run, else at most what its budget allows."""

    case: str
    planned_bytes: int | None
    fits: bool | None
    seconds: float | None
    skip: str | None


def dry_run(
    schedule: Schedule, catalog: Catalog, known_s: Mapping[str, float], listener: Listener
) -> list[PlannedCase]:
    """Compile every case without running or storing any."""
    rows = [PlannedCase(skip.case.id, None, None, None, skip.reason) for skip in schedule.skips]
    frameworks = sorted({info.framework for info in schedule.implementations.values()})
    executor = Processes(frameworks, "cpu")
    try:
        context = RunContext(
            executor, catalog, Provenance("", "", "", 0), listener, executor.folder, depth="static"
        )
        for index, group in enumerate(schedule.groups):
            ids = [case.id for case in group.cases]
            listener.group_started(index, group.key, ids, None)
            run = GroupRun(GroupContext(group, context))
            listener.group_finished(run.run(), None)
            rows += [_row(state, group.settings, known_s) for state in run.context.states]
    finally:
        executor.close()
    return rows


def _row(state: CaseState, settings: Settings, known_s: Mapping[str, float]) -> PlannedCase:
    static = state.static
    skip = state.reason if state.status != "ok" else state.too_large(settings.memory_bytes)
    seconds = None if skip else known_s.get(state.id, settings.budget_s)
    return PlannedCase(state.id, static.planned_bytes, static.fits, seconds, skip)
