"""Gathering the evidence that claims need: compiling cases, costs, running contracts and checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from itertools import count
from typing import TYPE_CHECKING

from harness.catalog.catalog import Catalog
from harness.claims.model import ClaimEvidence, Judged, Need
from harness.core.grouped import grouped
from harness.core.record import Cost
from harness.sweep.schedule import schedule_cases

if TYPE_CHECKING:
    from harness.report.progress import Progress
    from harness.run.compile import CompileRequest, CompileResult
    from harness.sweep.project import Project
    from harness.sweep.schedule import Schedule

REPORTED = 10  # programs compiled between two lines of progress


def gather(
    wanted: Sequence[Need],
    project: Project,
    progress: Callable[[Schedule], Progress],
    say: Callable[[str], None],
) -> ClaimEvidence:
    """The evidence for all needs.

    `say` prints a line before anything slow; `progress` makes the display for the run of contracts.
    """
    kinds = grouped(wanted, lambda need: need.kind)
    found: dict[Need, CompileResult | Cost | Judged | str] = {}
    if needs := kinds.get(Need.COMPILE):
        found |= _compile(needs, project, say)
    if needs := kinds.get(Need.COST):
        found |= _costs(needs, project.catalog)
    if needs := kinds.get(Need.JUDGE):
        say(f"{len({need.case for need in needs})} contracts, run on this machine")
        found |= _verify(needs, project, progress)
    return found


def _compile(
    wanted: Sequence[Need], project: Project, say: Callable[[str], None]
) -> dict[Need, CompileResult]:
    from harness.run import compile as compiling

    requests = {need: compiling.CompileRequest(need.case, need.target) for need in wanted}
    targets = dict.fromkeys(need.target for need in wanted)
    say(f"{len(requests)} programs for {', '.join(targets)}")
    finished = count(1)

    def report(_: CompileRequest, answer: CompileResult) -> None:
        if (done := next(finished)) % REPORTED == 0 and not answer.cached:
            say(f"{done} of {len(requests)}")

    answers = compiling.compile_all(
        *([*requests.values()], project.catalog),
        results=project.results,
        settings=project.config.settings,
        on_answer=report,
    )
    return {need: answers[request] for need, request in requests.items()}


def _costs(wanted: Sequence[Need], catalog: Catalog) -> dict[Need, Cost | str]:
    from harness.catalog.family_questions import CostQuestion, costs

    questions: list[CostQuestion] = []
    for need in wanted:
        family = catalog.family(need.case.family)
        semantics = catalog.implementation(need.case.implementation).semantics
        questions.append(CostQuestion(family.module, family.name, semantics, need.case.workload))
    return dict(zip(wanted, costs(questions), strict=True))


def _verify(
    wanted: Sequence[Need], project: Project, progress: Callable[[Schedule], Progress]
) -> dict[Need, Judged]:
    """The results of contracts and checks."""
    from harness.run.session import run_and_delete

    cases = list(dict.fromkeys(need.case for need in wanted))
    checks = {case.id: [need.check for need in wanted if need.check and need.case == case] for case in cases}
    schedule = schedule_cases([case.id for case in cases], project.catalog, project.config)
    with closing(progress(schedule)) as listener:
        _, records, interrupted = run_and_delete(schedule, project.catalog, listener, "check", checks=checks)
    if interrupted:
        raise KeyboardInterrupt
    judged_by_case = {
        r.case: Judged(r.status, r.reason or "", {check.check: check.passed for check in r.checks})
        for r in records
    }
    absent = Judged(None, "its contract did not run")
    return {need: judged_by_case.get(need.case.id, absent) for need in wanted}
