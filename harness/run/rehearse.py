"""What a run would do: its cases, what the compiler plans for each, and how long it may take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.catalog.catalog import Catalog
from harness.run.events import Listener
from harness.run.group import Context, GroupRun
from harness.run.member import Stamp
from harness.run.processes import Processes
from harness.sweep.schedule import Schedule


@dataclass(frozen=True)
class Rehearsed:
    """`seconds` is the wall time the case took in a stored run, else at most what its budget allows."""

    case: str
    planned_bytes: int | None
    fits: bool | None
    seconds: float | None
    skip: str | None


def rehearse(
    schedule: Schedule, catalog: Catalog, known_s: Mapping[str, float], listener: Listener
) -> list[Rehearsed]:
    """Compile every case without running or storing any."""
    rows = [Rehearsed(skip.case.id, None, None, None, skip.reason) for skip in schedule.skips]
    frameworks = sorted({info.framework for info in schedule.implementations.values()})
    executor = Processes(frameworks, "cpu")
    try:
        context = Context(executor, catalog, Stamp("", "", "", 0), listener, executor.folder, depth="static")
        for index, group in enumerate(schedule.groups):
            ids = [case.id for case in group.cases]
            listener.group_started(index, group.key, ids, None)
            records = GroupRun(group, context).run()
            for record in records:
                static = next(iter(record.static.values()))
                known = known_s.get(record.case, group.settings.budget_s)
                skip = record.reason if record.status != "ok" else None
                rows.append(
                    Rehearsed(record.case, static.planned_bytes, static.fits, None if skip else known, skip)
                )
            listener.group_finished(records, None)
    finally:
        executor.close()
    return rows
