"""Gathers the evidence that claims request: compiled cases, costs, contracts and checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from itertools import count
from typing import TYPE_CHECKING

from harness.catalog.catalog import Catalog
from harness.claims.model import ClaimEvidence, ContractOutcome, EvidenceRequest
from harness.core.grouped import grouped
from harness.core.record import Cost
from harness.sweep.schedule import schedule_cases

if TYPE_CHECKING:
    from harness.report.progress import Progress
    from harness.run.compile import CompileRequest, CompileResult
    from harness.sweep.project import Project
    from harness.sweep.schedule import Schedule

REPORTED = 10  # compiled programs per line of progress


def gather(
    wanted: Sequence[EvidenceRequest],
    project: Project,
    progress: Callable[[Schedule], Progress],
    log: Callable[[str], None],
) -> ClaimEvidence:
    """Gather the evidence for all requests.

    `log` prints a line before slow work; `progress` makes the display while contracts run.
    """
    kinds = grouped(wanted, lambda request: request.kind)
    found: dict[EvidenceRequest, CompileResult | Cost | ContractOutcome | str] = {}
    if requests := kinds.get(EvidenceRequest.COMPILE):
        found |= _compile(requests, project, log)
    if requests := kinds.get(EvidenceRequest.COST):
        found |= _costs(requests, project.catalog)
    if requests := kinds.get(EvidenceRequest.CONTRACT):
        log(f"running {len({request.case for request in requests})} contracts on this machine")
        found |= _verify(requests, project, progress)
    return found


def _compile(
    wanted: Sequence[EvidenceRequest], project: Project, log: Callable[[str], None]
) -> dict[EvidenceRequest, CompileResult]:
    from harness.run import compile as compiling

    programs = {request: compiling.CompileRequest(request.case, request.target) for request in wanted}
    targets = dict.fromkeys(request.target for request in wanted)
    log(f"compiling {len(programs)} programs for {', '.join(targets)}")
    finished = count(1)

    def report(_: CompileRequest, answer: CompileResult) -> None:
        if (done := next(finished)) % REPORTED == 0 and not answer.cached:
            log(f"compiled {done} of {len(programs)}")

    answers = compiling.compile_all(
        *([*programs.values()], project.catalog),
        results=project.results,
        settings=project.config.settings,
        on_answer=report,
    )
    return {request: answers[program] for request, program in programs.items()}


def _costs(wanted: Sequence[EvidenceRequest], catalog: Catalog) -> dict[EvidenceRequest, Cost | str]:
    from harness.catalog.family_questions import CostQuestion, costs

    questions: list[CostQuestion] = []
    for request in wanted:
        family = catalog.family(request.case.family)
        semantics = catalog.implementation(request.case.implementation).semantics
        questions.append(CostQuestion(family.module, family.name, semantics, request.case.workload))
    return dict(zip(wanted, costs(questions), strict=True))


def _verify(
    wanted: Sequence[EvidenceRequest], project: Project, progress: Callable[[Schedule], Progress]
) -> dict[EvidenceRequest, ContractOutcome]:
    """Run the contracts and checks."""
    from harness.run.session import run_and_delete

    cases = list(dict.fromkeys(request.case for request in wanted))
    checks = {
        case.id: [request.check for request in wanted if request.check and request.case == case]
        for case in cases
    }
    schedule = schedule_cases([case.id for case in cases], project.catalog, project.config)
    with closing(progress(schedule)) as listener:
        _, records, interrupted = run_and_delete(schedule, project.catalog, listener, "check", checks=checks)
    if interrupted:
        raise KeyboardInterrupt
    judged_by_case = {
        r.case: ContractOutcome(r.status, r.reason or "", {check.check: check.passed for check in r.checks})
        for r in records
    }
    absent = ContractOutcome(None, "its contract did not run")
    return {request: judged_by_case.get(request.case.id, absent) for request in wanted}
