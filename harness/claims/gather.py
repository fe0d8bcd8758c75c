"""Gathering the evidence that claims need: compiling cases, costs, running contracts and checks."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.claims.model import ClaimEvidence, Judged, Need
from harness.core.record import Cost
from harness.sweep.schedule import schedule_cases

if TYPE_CHECKING:
    from harness.report.progress import Progress
    from harness.run.compile import CompileRequest, CompileResult
    from harness.sweep.project import Project
    from harness.sweep.schedule import Schedule

REPORTED = 10  # programs compiled between two lines of progress


@dataclass(frozen=True)
class Workplace:
    """The surroundings of gathering evidence: settings, the folder of stored figures, progress output.

    `say` prints a line before anything slow; `progress` makes the display for the run of contracts.
    """

    project: Project
    progress: Callable[[Schedule], Progress]
    say: Callable[[str], None]


def gather(place: Workplace, wanted: Sequence[Need]) -> ClaimEvidence:
    """The evidence for all needs."""
    found: dict[Need, CompileResult | Cost | Judged | str] = {}
    for kind, answer in ((Need.COMPILE, _compile), (Need.COST, _costs), (Need.JUDGE, _verify)):
        if needs := [need for need in wanted if need.kind == kind]:
            found |= answer(place, needs)
    return found


def _compile(place: Workplace, wanted: Sequence[Need]) -> dict[Need, CompileResult]:
    from harness.run import compile as compiling

    requests = {need: compiling.CompileRequest(need.case, need.target) for need in wanted}
    targets = dict.fromkeys(need.target for need in wanted)
    place.say(f"{len(requests)} programs for {', '.join(targets)}")
    start, finished, compiled = time.monotonic(), 0, 0

    def report(_: CompileRequest, answer: CompileResult) -> None:
        nonlocal finished, compiled
        finished, compiled = finished + 1, compiled + (not answer.cached)
        if compiled and compiled % REPORTED == 0:
            left_s = (time.monotonic() - start) / finished * (len(requests) - finished)
            place.say(f"{finished} of {len(requests)}, about {left_s:.0f} s left")

    project = place.project
    answers = compiling.compile_all(
        *([*requests.values()], project.catalog),
        results=project.results,
        settings=project.config.settings,
        on_answer=report,
    )
    return {need: answers[request] for need, request in requests.items()}


def _costs(place: Workplace, wanted: Sequence[Need]) -> dict[Need, Cost | str]:
    from harness.catalog.family_questions import CostQuestion, costs

    catalog = place.project.catalog
    questions: list[CostQuestion] = []
    for need in wanted:
        family = catalog.family(need.case.family)
        semantics = catalog.implementation(need.case.implementation).semantics
        questions.append(CostQuestion(family.module, family.name, semantics, need.case.workload))
    return dict(zip(wanted, costs(questions), strict=True))


def _verify(place: Workplace, wanted: Sequence[Need]) -> dict[Need, Judged]:
    """The results of contracts and checks."""
    from harness.run.session import run_and_delete

    cases = list(dict.fromkeys(need.case for need in wanted))
    checks = {case.id: [need.check for need in wanted if need.check and need.case == case] for case in cases}
    place.say(f"{len(cases)} contracts, run on this machine")
    catalog = place.project.catalog
    schedule = schedule_cases([case.id for case in cases], catalog, place.project.config)
    with closing(place.progress(schedule)) as listener:
        _, records, interrupted = run_and_delete(schedule, catalog, listener, "check", checks=checks)
    if interrupted:
        raise KeyboardInterrupt
    judged_by_case = {
        r.case: Judged(r.status, r.reason or "", {check.check: check.passed for check in r.checks})
        for r in records
    }
    absent = Judged(None, "its contract did not run")
    return {need: judged_by_case.get(need.case.id, absent) for need in wanted}
