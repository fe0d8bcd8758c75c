"""`gate --static`: static figures and contracts of both sides, and of the committed baseline; no clock."""

import re
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.catalog.known_frameworks import traits_of
from harness.core.case import Case
from harness.core.errors import UsageError
from harness.core.version import version_of
from harness.gate.options import GateOptions
from harness.gate.outcome import NEW, STATIC, VANISHED, WEIGHT, CaseVerdict, GateOutcome
from harness.gate.plan import GatePlan, unmeasured_verdicts
from harness.gate.planning import plan_of, plan_of_candidate
from harness.gate.report.progress import GateProgress
from harness.gate.sides.git import NoHistory
from harness.gate.sides.worktrees import path_in_worktree
from harness.gate.static.baseline import (
    UPDATE,
    Baseline,
    ProcessorKey,
    diff,
    merge,
    path_of,
    read,
    write,
)
from harness.gate.static.baseline_diff import compare_with_file, file_entry
from harness.gate.static.compile_sides import CompiledCases, CompiledSide, compile_sides, missing_compilers
from harness.gate.static.diff import StaticFigures, StaticVerdict
from harness.gate.static.growth import judge
from harness.gate.timed.paired_case import BASE, CANDIDATE
from harness.run.machine.lock import device_lock
from harness.run.machine.probes import probe_fingerprint
from harness.sweep.project import Project

HOST = "host"
STALE = f"the file has it, and nothing of its name is registered: bring it back, or update the file: {UPDATE}"


def baseline_here(plan: GatePlan) -> Baseline:
    """A baseline file without cases, for this processor and the compilers of the plan's frameworks."""
    threads = plan.schedule.groups[0].settings.threads
    facts: Mapping[str, Any] = probe_fingerprint("cpu", threads)["fingerprint"]
    traits = map(traits_of, {info.framework for info in plan.catalog.implementations.values()})
    compilers = {name for each in traits for name in (each.host_compiler, each.kernel_compiler) if name}
    reported = {name: version_of(name) for name in compilers}
    versions = {name: version.partition("+")[0] for name, version in reported.items() if version}
    return Baseline(HOST, versions, ProcessorKey.of(facts["cpu"], facts["cpu_flags"]), threads)


def run_static(project: Project, options: GateOptions, progress: GateProgress) -> GateOutcome:
    """Compile and compare both sides; without git history, the candidate with the baseline file alone."""
    with ExitStack() as stack:
        _wait_for_host(options, progress, stack)
        plan, missing = _plan(project, options, stack)
        here = baseline_here(plan)
        path = path_of(project.results, HOST, here.versions)
        baseline = read(path)
        if baseline is None and BASE not in plan.sides:
            raise UsageError(
                f"{missing}; without history a gate compares with {path}, which does not exist: "
                f"{UPDATE} writes it"
            )
        plan = plan.with_measured(_cases_with_another_entry(plan, path, baseline))
        kept = baseline.comparable_kernels(here) if baseline else set[str]()
        states = _compile(plan, progress, kept.__contains__)
    notes = [f"compared with the committed file alone: {missing}"] if missing else []
    pairs = _pairs(plan, states)
    notes += missing_compilers(candidate.framework for _, candidate in pairs.values())
    verdicts = judge(pairs, plan.accept) if BASE in plan.sides else {}
    stale: list[str] = []
    if baseline is None and plan.opponents:
        notes.append(f"no file of exact figures for these versions: write {path} with {UPDATE}")
    if baseline is not None:
        candidates = {case.id: candidate for case, (_, candidate) in pairs.items()}
        by_file = compare_with_file(baseline, here, candidates, plan.accept)
        verdicts = {case: _graver_verdict(verdicts.get(case), verdict) for case, verdict in by_file.items()}
        stale = sorted(_unregistered_cases(baseline, plan) - {*plan.vanished})
    cases, left_out = _verdicts(plan, verdicts)
    return GateOutcome(
        kind=STATIC,
        base=" and ".join(filter(None, [plan.base, str(path) if plan.opponents and baseline else ""])),
        cases=(*cases, *(CaseVerdict(case, VANISHED, STALE) for case in stale)),
        left_out={**plan.left_out, **left_out},
        notes=(*plan.notes, *notes),
        slowdown=plan.deltas,
    )


def _wait_for_host(options: GateOptions, progress: GateProgress, stack: ExitStack) -> None:
    """With --wait, hold the processor's lock while this gate compiles, as a benchmark does."""
    if options.wait:
        stack.enter_context(device_lock("cpu", wait=progress.message))


def update(
    project: Project, options: GateOptions, progress: GateProgress
) -> tuple[str, list[str], list[str]]:
    """Write the candidate's figures; (the file, what has changed, what was left out and why)."""
    with ExitStack() as stack:
        _wait_for_host(options, progress, stack)
        plan = plan_of_candidate(project, options)
        here = baseline_here(plan)
        path = path_of(project.results, HOST, here.versions)
        old = read(path)  # before compiling: it may be damaged
        states = _compile(plan, progress, lambda _: True)
    figures = {case: candidate for case, (_, candidate) in _pairs(plan, states).items()}
    planned = {
        case.id: file_entry(candidate) for case, candidate in figures.items() if candidate.state == "ok"
    }
    refused = [
        f"{case.id}: {candidate.state}: {candidate.reason}"
        for case, candidate in figures.items()
        if candidate.state != "ok"
    ]
    unregistered = _unregistered_cases(old, plan) if old else set[str]()
    new = merge(old, replace(here, cases=planned), unregistered)
    write(path, new)
    return str(path), diff(old, new), refused


def _compile(plan: GatePlan, progress: GateProgress, kept: Callable[[str], bool]) -> CompiledCases:
    groups = plan.groups()
    progress.total = len(groups)
    if not groups:
        return {}
    return compile_sides(groups, plan.opponents, plan.sides, progress, kept)


def _cases_with_another_entry(plan: GatePlan, path: Path, baseline: Baseline | None) -> set[Case]:
    """Cases with the same code whose entry in the baseline file differs from that at the base."""
    trees = (
        {Path(repo): Path(tree) for repo, tree in plan.sides[BASE].trees.items()} if plan.same_code else {}
    )
    earlier_path = path_in_worktree(path, trees)
    if earlier_path is None or baseline is None:
        return set()
    earlier = read(earlier_path)
    known = earlier.cases if earlier else {}
    return {case for case in plan.same_code if baseline.cases.get(case.id) != known.get(case.id)}


def _unregistered_cases(baseline: Baseline, plan: GatePlan) -> set[str]:
    """The file's cases whose implementation is no longer registered in a selected family."""
    families = {suite.family for suite in plan.schedule.suites}
    known = plan.catalog.implementations
    return {
        case
        for case in baseline.cases
        if plan.selects(case)
        and case.split("/", 1)[0] in families
        and re.split(r"[\[@]", case, maxsplit=1)[0] not in known
    }


def _plan(project: Project, options: GateOptions, stack: ExitStack) -> tuple[GatePlan, str]:
    """(the plan, why it has no base: empty if it has one)."""
    try:
        return stack.enter_context(plan_of(project, options)), ""
    except NoHistory as missing:
        return plan_of_candidate(project, options), str(missing)


def _pairs(plan: GatePlan, compiled: CompiledCases) -> dict[Case, tuple[StaticFigures | None, StaticFigures]]:
    return {
        case: (_static_figures(sides[BASE]) if BASE in sides else None, _static_figures(sides[CANDIDATE]))
        for case in plan.opponents
        if (sides := compiled.get(case.id))
    }


def _static_figures(compiled: CompiledSide) -> StaticFigures:
    state = compiled.state
    return StaticFigures.of(
        state.plan.static,
        state.correctness,
        kernels=compiled.kernels,
        owners=compiled.owners,
        framework=state.info.framework,
        status=state.status or "crashed",
        reason=state.reason,
        expected=state.plan.expected,
        compiles=state.call.recompiled,
    )


def _graver_verdict(live: StaticVerdict | None, by_file: StaticVerdict) -> StaticVerdict:
    """The graver of the verdicts against the base and against the file, with the notes of both."""
    if live is None or live.verdict is None:
        return by_file if live is None else live
    notes = (*live.notes, *(f"against the file: {note}" for note in by_file.notes))
    if by_file.verdict in {None, NEW} or WEIGHT.index(by_file.verdict) >= WEIGHT.index(live.verdict):
        return live._replace(notes=notes)
    return by_file._replace(notes=notes)


def _verdicts(
    plan: GatePlan, verdicts: Mapping[str, StaticVerdict]
) -> tuple[tuple[CaseVerdict, ...], dict[str, str]]:
    cases: list[CaseVerdict] = []
    left_out: dict[str, str] = {}
    for case in plan.opponents:
        finding = verdicts.get(case.id)
        if finding is None or finding.verdict is None:
            left_out[case.id] = finding.reason if finding else "its group did not run"
            continue
        reason = plan.new.get(case.id, finding.reason) if finding.verdict == NEW else finding.reason
        cases.append(plan.verdict_on(case, finding.verdict, reason, finding.notes))
    return (*cases, *unmeasured_verdicts(plan)), left_out
