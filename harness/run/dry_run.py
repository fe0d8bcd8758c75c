"""A dry run: its cases, the compiler's plan for each, and how long each may take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.catalog.accelerators import HOST
from harness.core.case import Case
from harness.run.compile.pool import Pool
from harness.run.compile.request import CompileRequest, CompileResult
from harness.run.group.case_state import why_too_large, within_limit
from harness.run.group.events import Listener
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
    schedule: Schedule, known_s: Mapping[str, float], listener: Listener, pool: Pool
) -> list[PlannedCase]:
    """Compile every case for the host, from the cache where it is kept; none is run or stored."""
    groups = {case: (index, group) for index, group in enumerate(schedule.groups) for case in group.cases}
    rows = {case: PlannedCase(case.id, None, None, None, None) for case in groups}
    shown = None
    for case, (_, group) in groups.items():
        pool.ask(CompileRequest(case, HOST), group.settings)
    for _ in groups:
        request, answer = pool.next()
        index, group = groups[request.case]
        if index != shown:
            shown = index
            listener.group_started(index, group.key, [case.id for case in group.cases], None)
        listener.case_state(request.case.id, answer.reason or "compiled")
        rows[request.case] = _row(request.case, answer, schedule, group.settings, known_s)
    refused = [PlannedCase(skip.case.id, None, None, None, skip.reason) for skip in schedule.skips]
    return [*refused, *rows.values()]


def _row(
    case: Case, answer: CompileResult, schedule: Schedule, settings: Settings, known_s: Mapping[str, float]
) -> PlannedCase:
    static, limit = answer.static, settings.memory_bytes
    fits = within_limit(static, answer.input_bytes, limit)
    skip = answer.reason
    if answer.status == "ok" and fits is False:
        framework = schedule.implementations[case.implementation].framework
        skip = why_too_large(static, answer.input_bytes, limit, framework)
    seconds = None if skip else known_s.get(case.id, settings.budget_s)
    return PlannedCase(case.id, static.planned_bytes, fits, seconds, skip)
