"""`gate` with a clock: both sides interleaved in one run, pair by pair, until each case is decided."""

import os
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from harness.core.grouped import grouped
from harness.core.typed_command import typed_command
from harness.gate.case_evidence import CaseEvidence
from harness.gate.options import LEAST_PAIRS, GateOptions
from harness.gate.outcome import TIME, GateOutcome
from harness.gate.plan import GatePlan
from harness.gate.planning import plan_of
from harness.gate.report.progress import GateProgress
from harness.gate.store import GateFolder, GateHeader
from harness.gate.timed.context import set_up
from harness.gate.timed.decision import Margin
from harness.gate.timed.detectable import noise_lines
from harness.gate.timed.loop import GateLoop
from harness.gate.timed.sequential_test import SequentialTest
from harness.gate.timed.verdicts import TimedResult, evidence_of, left_out_reasons, verdicts
from harness.run.machine.lock import device_lock
from harness.store.run_id import new_run_id
from harness.sweep.project import Project


def looks(max_pairs: int) -> tuple[int, ...]:
    """The numbers of pairs after which a case has an interim analysis: 4, 6, 8 … and the last."""
    return tuple(dict.fromkeys([*range(LEAST_PAIRS, max_pairs + 1, 2), max_pairs]))


def run_timed(
    project: Project, options: GateOptions, progress: GateProgress
) -> tuple[GateOutcome, dict[str, CaseEvidence]]:
    """Measure, decide and store."""
    with ExitStack() as stack:
        plan = stack.enter_context(plan_of(project, options))
        for device in sorted({case.device for case in plan.opponents}):
            tell = progress.message if options.wait else None
            stack.enter_context(device_lock(device, wait=tell))
        folder = _new_folder(project.results, plan)
        try:
            started = progress.clock()
            result = _measure(plan, options, progress)
            evidence = {paired.id: evidence_of(paired, result, plan) for paired in result.paired_cases}
            outcome = _outcome_of(plan, options, result, evidence, progress.clock() - started)
            folder.write_header(replace(folder.header, outcome=outcome, evidence=evidence))
        except BaseException:
            folder.discard()
            raise
        return outcome, evidence


def _new_folder(results: Path, plan: GatePlan) -> GateFolder:
    now, command = datetime.now(UTC), tuple(typed_command())
    sources = {name: info.hash for name, info in plan.schedule.implementations.items()}
    present = [path.name for path in (results / "gates").glob("*")]
    gate_id = new_run_id(now, f"{os.getpid()} {' '.join(command)}", present)
    return GateFolder.create(
        results, gate_id, GateHeader(command, now.isoformat(timespec="seconds"), sources)
    )


def _outcome_of(
    plan: GatePlan,
    options: GateOptions,
    result: TimedResult,
    evidence: Mapping[str, CaseEvidence],
    wall_s: float,
) -> GateOutcome:
    effects = [(*case.first, *case.fresh) for case in evidence.values()]
    noise = noise_lines(effects) if options.self_check else []
    return GateOutcome(
        kind=TIME,
        base=plan.base,
        cases=verdicts(plan, result, options),
        left_out={**plan.left_out, **left_out_reasons(result.paired_cases)},
        notes=(*plan.notes, *result.disturbances, *noise),
        slowdown=plan.deltas,
        self_check=options.self_check,
        inconclusive=options.inconclusive,
        wall_s=wall_s,
    )


def _measure(plan: GatePlan, options: GateOptions, progress: GateProgress) -> TimedResult:
    opponents = {case: theirs for case, theirs in plan.opponents.items() if theirs is not None}
    if not opponents:
        return TimedResult()
    steps = looks(options.max_pairs)
    with set_up(plan.groups(), opponents, plan.sides, progress) as (shared, paired_cases):
        test = SequentialTest(
            {paired.id: Margin(plan.delta(paired.candidate.case), looks=steps) for paired in paired_cases}
        )
        loop = GateLoop(shared, paired_cases, test, progress, options.budget_s, plan.demotes_same_program)
        loop.run()
    rounds = grouped(loop.rounds, lambda rounds: rounds.case)
    return TimedResult(tuple(paired_cases), test, rounds, tuple(loop.disturbances))
