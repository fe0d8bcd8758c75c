"""What a run would do: its cases, what the compiler plans for each, and how long it may take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.catalog.catalog import Catalog
from harness.run.case_state import CaseState
from harness.run.events import Listener
from harness.run.group import GroupRun
from harness.run.group_context import GroupContext
from harness.run.processes.worker_process import Processes
from harness.run.records import Provenance
from harness.run.run_context import RunContext
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
            rehearsal = GroupRun(GroupContext(group, context))
            listener.group_finished(rehearsal.run(), None)
            rows += [_row(member, group.settings, known_s) for member in rehearsal.sitting.members]
    finally:
        executor.close()
    return rows


def _row(member: CaseState, settings: Settings, known_s: Mapping[str, float]) -> PlannedCase:
    static = member.static
    skip = member.reason if member.status != "ok" else member.too_large(settings.memory_bytes)
    seconds = None if skip else known_s.get(member.id, settings.budget_s)
    return PlannedCase(member.id, static.planned_bytes, static.fits, seconds, skip)
