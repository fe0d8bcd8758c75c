"""`gate` with a clock: both sides interleaved in one run, pair by pair, until each case is decided."""

import math
import os
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

from harness.core.errors import SeqsweepError
from harness.core.grouped import grouped
from harness.core.typed_command import typed_command
from harness.gate.case_evidence import CaseEvidence
from harness.gate.noise.measure import refuse_below
from harness.gate.options import LEAST_PAIRS, GateOptions
from harness.gate.outcome import TIME, GateOutcome
from harness.gate.plan import GatePlan
from harness.gate.planning import plan_of
from harness.gate.report.progress import GateProgress
from harness.gate.sides.git import state, toplevel
from harness.gate.store import GateFolder, GateHeader, newest
from harness.gate.timed.context import set_up
from harness.gate.timed.decision import Margin
from harness.gate.timed.loop import GateLoop
from harness.gate.timed.sequential_test import SequentialTest
from harness.gate.timed.verdicts import TimedResult, evidence_of, left_out_reasons, verdicts
from harness.run.machine.lock import device_lock
from harness.store.json_file import digest
from harness.store.run_id import new_run_id
from harness.sweep.project import Project


def looks(max_pairs: int) -> tuple[int, ...]:
    """The numbers of pairs after which a case has an interim analysis: 4, 6, 8 … and the last."""
    return tuple(dict.fromkeys([*range(LEAST_PAIRS, max_pairs + 1, 2), max_pairs]))


def run_timed(
    project: Project, options: GateOptions, progress: GateProgress
) -> tuple[GateOutcome, dict[str, CaseEvidence]]:
    """Measure, decide and store. KeyboardInterrupt leaves everything measured on disk."""
    with ExitStack() as stack:
        plan = stack.enter_context(plan_of(project, options))
        deltas = [plan.delta(case) for case, theirs in plan.opponents.items() if theirs is not None]
        refuse_below(project.results, min(deltas, default=math.inf))
        request = request_of(plan, options, source_states(plan))
        for device in sorted({case.device for case in plan.opponents}):
            tell = progress.message if options.wait else None
            stack.enter_context(device_lock(device, wait=tell))
        folder = newest(project.results, request) if options.resume else _new(project.results, request, plan)
        stack.enter_context(folder.writing(progress.message))
        progress.kept = folder.path
        started = progress.clock()
        try:
            result = _measure(plan, options, folder, progress)
        except SeqsweepError:
            folder.discard_empty()
            raise
        outcome = GateOutcome(
            kind=TIME,
            base=plan.base,
            cases=verdicts(plan, result, options),
            left_out={**plan.left_out, **left_out_reasons(result.paired_cases)},
            notes=(*plan.notes, *result.disturbances),
            slowdown=plan.deltas,
            self_check=options.self_check,
            inconclusive=options.inconclusive,
            wall_s=progress.clock() - started,
        )
        evidence = {paired.id: evidence_of(paired, result, plan) for paired in result.paired_cases}
        folder.write_header(replace(folder.header, outcome=outcome, evidence=evidence))
        return outcome, evidence


def _measure(plan: GatePlan, options: GateOptions, folder: GateFolder, progress: GateProgress) -> TimedResult:
    """Run the loop, continuing after the pairs that the folder already has."""
    opponents = {case: theirs for case, theirs in plan.opponents.items() if theirs is not None}
    if not opponents:
        return TimedResult()
    steps, stored = looks(options.max_pairs), folder.rounds()
    with set_up(plan.groups(), opponents, plan.sides, progress) as (shared, paired_cases):
        test = SequentialTest(
            {paired.id: Margin(plan.delta(paired.candidate.case), looks=steps) for paired in paired_cases}
        )
        for rounds in stored:
            test.feed(rounds.case, rounds.effect)
        first = 1 + max((rounds.pair for rounds in stored), default=0)
        keep, budget_s = folder.append, options.budget_s
        loop = GateLoop(
            shared, paired_cases, test, progress, keep, budget_s, first, plan.demotes_same_program
        )
        loop.run()
    rounds = grouped(folder.rounds(), lambda rounds: rounds.case)
    return TimedResult(tuple(paired_cases), test, rounds, tuple(loop.disturbances))


def source_states(plan: GatePlan) -> dict[str, str]:
    """A hash of each repository that holds an implementation: it may import or read other files there."""
    names = {case.implementation for case in plan.opponents}
    folders = {Path(plan.catalog.implementation(name).file).parent for name in names}
    return {str(repo): state(repo) for repo in {toplevel(folder) for folder in folders} if repo}


def request_of(plan: GatePlan, options: GateOptions, trees: Mapping[str, str]) -> str:
    """A hash, equal for gates whose pairs may be pooled: equal cases of equal code, with equal margins."""
    sides = {
        name: {
            "says": side.description,
            "interpreter": side.interpreter,
            "sources": {info.id: info.hash for info in side.catalog.implementations.values()},
        }
        for name, side in plan.sides.items()
    }
    parts = {
        "sides": sides,
        "cases": sorted(case.id for case in plan.opponents),
        "deltas": dict(plan.deltas),
        "self_check": options.self_check,
        "trees": dict(trees),
        "settings": [asdict(suite.settings) for suite in plan.schedule.suites if suite.name in plan.deltas],
    }
    return digest(parts)


def _new(results: Path, request: str, plan: GatePlan) -> GateFolder:
    now = datetime.now(UTC)
    command = typed_command()
    header = GateHeader(
        command=tuple(command),
        started=now.isoformat(timespec="seconds"),
        request=request,
        sources={name: info.hash for name, info in plan.schedule.implementations.items()},
    )
    present = [path.name for path in (results / "gates").glob("*")]
    gate_id = new_run_id(now, f"{os.getpid()} {' '.join(command)}", present)
    return GateFolder.create(results, gate_id, header)
