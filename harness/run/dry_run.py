"""Dry run: how many cases each suite has and, on request, the compiler's plan for each case."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.catalog.accelerators import HOST
from harness.core.case import Case
from harness.run.case.compiled_plan import CompiledPlan
from harness.run.compile.pool import Pool
from harness.run.compile.request import CompileRequest, CompileResult
from harness.run.events import Listener
from harness.sweep.schedule import Schedule
from harness.sweep.settings import Settings
from harness.sweep.suite import Suite


@dataclass(frozen=True)
class PlannedSuite:
    """The cases of a suite. `axes` are the numbers of values of the fields that have more than one.

    `cases` are the ids of those that may run, `impossible` maps the others to the reason. `budget_s` is the
    sum of their sampling budgets over all replicates, without compiling and verifying.
    """

    suite: str
    axes: Mapping[str, int]
    modes: int
    devices: int
    implementations: int
    cases: Sequence[str]
    impossible: Mapping[str, str]
    budget_s: float
    baseline: str
    settings: Settings


@dataclass(frozen=True)
class PlannedCase:
    """`seconds` is the wall time of the case in a stored run, else its sampling budget."""

    case: str
    planned_bytes: int | None
    fits: bool | None
    seconds: float | None
    skip: str | None


@dataclass(frozen=True)
class DryRun:
    """The suites of a schedule and, on request, its cases with their figures.

    `total` and `budget_s` are of all suites together; a case that several suites share counts once.
    """

    suites: Sequence[PlannedSuite]
    total: int
    budget_s: float
    cases: Sequence[PlannedCase] | None = None


def count_cases(schedule: Schedule) -> DryRun:
    """The cases of each suite and of all together. Nothing is compiled."""
    reasons = {skip.case: skip.reason for skip in schedule.skips}
    replicates, groups = schedule.replicates, schedule.groups
    return DryRun(
        suites=[_count_suite(suite, reasons, replicates) for suite in schedule.suites],
        total=sum(len(group.cases) for group in groups) * replicates,
        budget_s=sum(len(group.cases) * group.settings.budget_s for group in groups) * replicates,
    )


def _count_suite(suite: Suite, reasons: Mapping[Case, str], replicates: int) -> PlannedSuite:
    running = [case.id for case in suite.cases if case not in reasons]
    return PlannedSuite(
        suite=suite.name,
        axes={name: len(values) for name, values in suite.axes.items() if len(values) > 1},
        modes=len(suite.modes),
        devices=len(suite.devices),
        implementations=len(suite.implementations),
        cases=running,
        impossible={case.id: reasons[case] for case in suite.cases if case in reasons},
        budget_s=len(running) * suite.settings.budget_s * replicates,
        baseline=suite.baseline,
        settings=suite.settings,
    )


def compile_cases(
    schedule: Schedule, known_s: Mapping[str, float], listener: Listener, pool: Pool
) -> list[PlannedCase]:
    """Compile every case for the host, or take it from the cache; none is run or stored."""
    groups = {case: (index, group) for index, group in enumerate(schedule.groups) for case in group.cases}
    rows = {case: PlannedCase(case.id, None, None, None, None) for case in groups}
    shown = None
    for case, (_, group) in groups.items():
        pool.submit(CompileRequest(case, HOST), group.settings)
    for _ in groups:
        request, answer = pool.next_result()
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
    framework, limit = schedule.implementations[case.implementation].framework, settings.memory_bytes
    plan = CompiledPlan(framework, answer.static, answer.input_bytes)
    skip = plan.too_large(limit) if answer.status == "ok" else answer.reason
    seconds = None if skip else known_s.get(case.id, settings.budget_s)
    return PlannedCase(case.id, plan.static.planned_bytes, plan.fits(limit), seconds, skip)
