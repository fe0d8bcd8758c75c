"""Timed gate: measures both sides in interleaved pairs until each case has a verdict."""

import math
import os
import shutil
import statistics
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

from harness.core.errors import UsageError
from harness.core.grouped import grouped
from harness.core.plain_data import from_plain
from harness.core.typed_command import typed_command
from harness.core.units import format_seconds
from harness.gate.options import LEAST_PAIRS, GateOptions
from harness.gate.outcome import IMPROVED, NEW, REGRESSED, TIME, UNCHANGED, CaseVerdict, GateOutcome
from harness.gate.plan import GatePlan, plan_of, unmeasured_verdicts
from harness.gate.timed.decision import CaseEvidence, Margin, PairResult, noise_lines
from harness.gate.timed.loop import GateLoop
from harness.gate.timed.paired_case import BASE, CANDIDATE, LEFT_OUT, PairedCase, set_up
from harness.gate.timed.sequential_test import SequentialTest, TestState
from harness.report.progress import Progress
from harness.run.machine.lock import device_lock
from harness.store import json_file
from harness.store.atomic import replace, write_error
from harness.store.runs import new_run_id
from harness.sweep.project import Project

TAIL = 0.22  # log 1.25: a larger ratio of 90th percentiles gets a note, but does not change the verdict
SAME = "same program on both sides, so a time difference comes from the machine"
ACCEPTED = "slower, accepted in bench.yaml"
HEADER = "gate.json"
REMEDY = "remove its folder, and run the gate again"

Counts: TypeAlias = Sequence[tuple[str, int]]  # of kernels


@dataclass(frozen=True)
class StoredGate:
    """`results/gates/<id>/gate.json`: outcome and evidence of a timed gate; `sources` are hashes."""

    command: tuple[str, ...]
    started: str
    sources: Mapping[str, str]
    outcome: GateOutcome
    evidence: Mapping[str, CaseEvidence]
    schema: int = 1


def new_folder(results: Path, gate_id: str) -> Path:
    """Create the folder of a new gate, before anything is measured. MachineError if that fails."""
    folder = results / "gates" / gate_id
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise write_error(folder, error) from None
    return folder


def store_gate(folder: Path, gate: StoredGate) -> None:
    replace(folder / HEADER, json_file.to_text({**asdict(gate), "outcome": gate.outcome.to_json()}))


def newest_gate(results: Path) -> StoredGate:
    """The newest gate that has finished; ids sort by time. UsageError if there is none, or it is damaged."""
    path = max((results / "gates").glob(f"*/{HEADER}"), default=None)
    if path is None:
        raise UsageError(f"no gate is stored in {results / 'gates'}; run one with: seqsweep gate")
    return from_plain(StoredGate, json_file.read_object(path, REMEDY, StoredGate))


@dataclass(frozen=True)
class TimedResult:
    """Result of the loop; `results` are by case id, in the order of pairs."""

    paired_cases: tuple[PairedCase, ...] = ()
    sequential_test: SequentialTest = field(default_factory=lambda: SequentialTest({}))
    results: Mapping[str, Sequence[PairResult]] = field(default_factory=dict[str, Sequence[PairResult]])
    disturbances: tuple[str, ...] = ()


def verdicts(plan: GatePlan, result: TimedResult, options: GateOptions) -> tuple[CaseVerdict, ...]:
    by_id = {paired.id: paired for paired in result.paired_cases}
    case_verdicts: list[CaseVerdict] = []
    for case in plan.counterparts:
        paired = by_id.get(case.id)
        if paired is None:
            case_verdicts.append(plan.verdict_on(case, NEW, plan.new[case.id]))
        elif paired.verdict is None:
            case_verdicts.append(_timed_verdict(paired, result, plan, options))
        elif paired.verdict != LEFT_OUT:
            case_verdicts.append(plan.verdict_on(case, paired.verdict, paired.reason))
    return (*case_verdicts, *unmeasured_verdicts(plan))


def _timed_verdict(
    paired: PairedCase, result: TimedResult, plan: GatePlan, options: GateOptions
) -> CaseVerdict:
    state = result.sequential_test.cases[paired.id]
    decision = state.latest
    verdict, reason = decision.verdict, decision_reason(state)
    if state.verdict is None:
        reason = _open_reason(state, options, result.sequential_test.missing(paired.id))
    notes: list[str] = []
    if paired.same_program and plan.demotes_same_program:
        if verdict in {REGRESSED, IMPROVED}:
            notes.append(f"advisory: by time only it is {verdict.replace('_', ' ')} ({reason})")
        verdict, reason = UNCHANGED, SAME
    elif verdict == REGRESSED and (why := plan.accept(paired.id, "time")):
        # A note, because tables do not show the reason of an unchanged case.
        notes.append(f"accepted: {reason}: {why}")
        verdict, reason = UNCHANGED, ACCEPTED
    notes += _kernels_note(paired)
    if verdict != REGRESSED:
        notes += _tail_note(result.results.get(paired.id, ()))
    measured = {"effect": decision.effect, "low": decision.low, "high": decision.high}
    return plan.verdict_on(
        paired.candidate.case, verdict, reason, tuple(notes), pairs=decision.pairs, **measured
    )


def _tail_note(results: Sequence[PairResult]) -> list[str]:
    """Note on calls that are slow only sometimes, which the minima that decide do not show."""
    tails = [pair.tail for pair in results if pair.tail is not None]
    tail = statistics.median(tails) if tails else 0.0
    if tail <= TAIL:
        return []
    return [f"advisory: the slowest tenth of its calls is {100 * math.expm1(tail):.0f} % slower"]


def _kernels_note(paired: PairedCase) -> list[str]:
    """Note if the sides ran different kernels, because one may have fallen back to another path."""
    candidate, base = (paired.sides[side].kernels_run for side in (CANDIDATE, BASE))
    if not candidate or not base or dict(candidate) == dict(base):
        return []
    own, other = _differing(candidate, base), _differing(base, candidate)
    return [f"different kernels ran. Candidate: {own}. Base: {other}"]


def _differing(counts: Counts, others: Counts) -> str:
    return ", ".join(f"{name} {n}×" for name, n in counts if dict(others).get(name) != n) or "nothing else"


def decision_reason(state: TestState) -> str:
    """Reason for the decision on a case's pairs."""
    decision, delta = state.latest, state.margin.slowdown
    half = f"{50 * delta:g} %"
    if decision.verdict == REGRESSED and decision.low is None:
        return "more than twice as slow in the first pair of processes, and again in a fresh pair"
    if decision.verdict == REGRESSED:
        if state.suspicion is None or state.fresh is None:  # advisory cases have no fresh pairs
            return f"more than {half} slower on {decision.pairs} pairs"
        before = state.suspicion.pairs
        return f"more than {half} slower on {before} pairs, and again on {decision.pairs} fresh ones"
    if decision.verdict == IMPROVED:
        return f"more than {half} faster on {decision.pairs} pairs"
    if decision.verdict == UNCHANGED:
        return f"a slowdown of {100 * delta:g} % is excluded"
    if state.unconfirmed:
        return f"not confirmed: {state.unconfirmed}"
    return f"undecided after {len(state.effects)} pairs: raise --max-pairs, or measure on a quieter machine"


def _open_reason(state: TestState, options: GateOptions, missing: int) -> str:
    """Reason for no verdict: the pairs for the next analysis do not fit the budget."""
    return (
        f"undecided after {len(state.effects)} pairs: {missing} more do not fit the budget of "
        f"{format_seconds(options.budget_s, 2)}; raise --budget, or select fewer cases with --cases"
    )


def evidence_of(paired: PairedCase, result: TimedResult, plan: GatePlan) -> CaseEvidence:
    """Evidence on a case, for --explain."""
    state = result.sequential_test.cases.get(paired.id)
    pairs = result.results.get(paired.id, ())
    return CaseEvidence(
        slowdown=plan.delta(paired.candidate.case),
        first=tuple(state.first) if state else (),
        fresh=tuple(state.fresh or ()) if state else (),
        rounds=tuple(pair.log_ratios for pair in pairs),
        levels_s=tuple(pair.levels_s for pair in pairs),
        same_program=paired.same_program if paired.candidate.plan.static.program else None,
    )


def looks(max_pairs: int) -> tuple[int, ...]:
    """Numbers of pairs after which a case has an interim analysis: 4, 6, 8 … and the last."""
    return tuple(dict.fromkeys([*range(LEAST_PAIRS, max_pairs + 1, 2), max_pairs]))


def run_timed(
    project: Project, options: GateOptions, progress: Progress
) -> tuple[GateOutcome, dict[str, CaseEvidence]]:
    """Measure and decide every case, and store the outcome."""
    with ExitStack() as stack:
        plan = stack.enter_context(plan_of(project, options))
        for device in sorted({case.device for case in plan.counterparts}):
            log = progress.message if options.wait else None
            stack.enter_context(device_lock(device, wait=log))
        now, command = datetime.now(UTC), tuple(typed_command())
        present = [path.name for path in (project.results / "gates").glob("*")]
        gate_id = new_run_id(now, f"{os.getpid()} {' '.join(command)}", present)
        folder = new_folder(project.results, gate_id)
        try:
            started = progress.clock()
            result = _measure(plan, options, progress)
            evidence = {paired.id: evidence_of(paired, result, plan) for paired in result.paired_cases}
            left_out = {one.id: one.reason for one in result.paired_cases if one.verdict == LEFT_OUT}
            effects = [(*case.first, *case.fresh) for case in evidence.values()]
            noise = noise_lines(effects) if options.self_check else []
            outcome = GateOutcome(
                kind=TIME,
                base=plan.base,
                cases=verdicts(plan, result, options),
                left_out={**plan.left_out, **left_out},
                notes=(*plan.notes, *result.disturbances, *noise),
                slowdown=plan.deltas,
                self_check=options.self_check,
                inconclusive=options.inconclusive,
                wall_s=progress.clock() - started,
            )
            sources = {name: info.hash for name, info in plan.schedule.implementations.items()}
            begun = now.isoformat(timespec="seconds")
            store_gate(folder, StoredGate(command, begun, sources, outcome, evidence))
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return outcome, evidence


def _measure(plan: GatePlan, options: GateOptions, progress: Progress) -> TimedResult:
    counterparts = {case: theirs for case, theirs in plan.counterparts.items() if theirs is not None}
    if not counterparts:
        return TimedResult()
    steps = looks(options.max_pairs)
    with set_up(plan.groups(), counterparts, plan.sides, progress) as (shared, paired_cases):
        test = SequentialTest(
            {paired.id: Margin(plan.delta(paired.candidate.case), looks=steps) for paired in paired_cases}
        )
        loop = GateLoop(shared, paired_cases, test, options.budget_s, plan.demotes_same_program)
        loop.run()
    results = grouped(loop.results, lambda result: result.case)
    return TimedResult(tuple(paired_cases), test, results, tuple(loop.disturbances))
