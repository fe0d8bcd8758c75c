"""Static comparisons: `gate --static`, which compiles and verifies both sides, and `static --against`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from typing import NamedTuple

from harness.catalog import child_process
from harness.catalog.accelerators import missing_compiler
from harness.catalog.discovery import VERSIONS
from harness.catalog.known_frameworks import traits_of, versions
from harness.core.case import Case
from harness.core.errors import SideError, UsageError
from harness.core.protocol import Job
from harness.core.record import Record
from harness.core.scratch_folder import ScratchFolder
from harness.core.static_figures import Static
from harness.gate.options import GateOptions
from harness.gate.outcome import NEW, STATIC, CaseVerdict, GateOutcome
from harness.gate.plan import plan_of, unmeasured_verdicts
from harness.gate.sides.base import base_of
from harness.gate.sides.matching import counterpart
from harness.gate.sides.side import Side
from harness.gate.static.diff import StaticSide, compare
from harness.gate.timed.paired_case import BASE, CANDIDATE, PROVENANCE, Counterparts, open_group
from harness.report.progress import Progress
from harness.run.case.case_state import CaseState
from harness.run.compile import CompileRequest, CompileResult, Pool
from harness.run.compile.pool import workers_of
from harness.run.events import Listener
from harness.run.group.group_run import GroupRun
from harness.run.group.run_context import RunContext
from harness.run.machine.lock import device_lock
from harness.run.processes.executor import Executor, Worker
from harness.run.processes.worker_process import Processes
from harness.sweep.project import Project
from harness.sweep.schedule import Group, Schedule
from harness.sweep.settings import Settings

VERSIONS_SECONDS = 60.0


def compile_side(
    side: Side, requests: Mapping[CompileRequest, Settings]
) -> dict[CompileRequest, CompileResult]:
    """Compile one side's cases with that side's interpreter and import path."""
    if not requests:
        return {}
    with (
        closing(Processes([], "cpu", interpreter=side.interpreter, path=side.path)) as processes,
        closing(Pool(side.catalog, None, workers_of(side.catalog, processes))) as pool,
    ):
        for request, settings in requests.items():
            pool.submit(request, settings)
        return dict(pool.next_result() for _ in requests)


class BaseFigures(NamedTuple):
    """Static figures of the base, by the candidate's case id and the target. `name` describes the base."""

    name: str
    figures: Mapping[tuple[str, str], Static]


def compile_base(
    project: Project, schedule: Schedule, targets: Sequence[str], against: str, log: Callable[[str], None]
) -> BaseFigures:
    """Compile a schedule's cases at the base that `--against` names; errors are those of `base_of`."""
    if against.startswith("impl:"):
        raise UsageError("--against: use git:REF or py:INTERPRETER; to compare implementations, name both")
    settings = {case: group.settings for group in schedule.groups for case in group.cases}
    candidate = Side(CANDIDATE, "the working tree", project.catalog)
    wanted = {case.implementation for case in settings}
    with (
        ScratchFolder("gate-") as folder,
        base_of(against, candidate, project.config.path, project.plugins, folder, wanted=wanted) as base,
    ):
        log(f"compiling {len(settings)} cases of the base, {base.side.description}, for {', '.join(targets)}")
        counterparts = {case: counterpart(case, candidate, base.side) for case in settings}
        requests = {
            CompileRequest(theirs, target, owners=True): settings[case]
            for case, theirs in counterparts.items()
            if isinstance(theirs, Case)
            for target in targets
        }
        results = compile_side(base.side, requests)
        figures = {
            (case.id, target): results[CompileRequest(theirs, target, owners=True)].static
            if isinstance(theirs, Case)
            else Static.none(theirs or "the base does not have this case")
            for case, theirs in counterparts.items()
            for target in targets
        }
        return BaseFigures(_name_of(base.side, candidate), figures)


def _name_of(base: Side, candidate: Side) -> str:
    """The base's description, with the versions that differ if it is another environment."""
    if base.interpreter == candidate.interpreter:
        return base.description
    new = versions()
    try:
        old = child_process.ask(
            ["harness.catalog.discovery", VERSIONS],
            VERSIONS_SECONDS,
            path=base.path,
            interpreter=base.interpreter,
        )
    except child_process.NoAnswer as error:
        raise SideError(f"the versions of {base.interpreter} cannot be read: {error}") from None
    changes = [
        f"{name} {old.get(name) or 'none'} to {new[name] or 'none'}"
        for name in sorted(new)
        if old.get(name) != new[name]
    ]
    return f"{base.description} ({', '.join(changes) or 'same versions'})"


def changes_since(base: BaseFigures, records: Sequence[Record], target: str) -> GateOutcome:
    """The gate's verdict on each case's figures for a target, compared with the base's."""
    cases: list[CaseVerdict] = []
    left_out: dict[str, str] = {}
    for record in records:
        before, now = base.figures.get((record.case, target)), record.static.get(target)
        if before is None or now is None:
            continue
        verdict, reason, notes = compare(_side(record, before, target), _side(record, now, target), None)
        if verdict is None:
            left_out[record.case] = reason
        else:
            cases.append(CaseVerdict(record.case, verdict, reason, notes=notes))
    return GateOutcome(STATIC, f"{base.name}, for {target}", tuple(cases), left_out)


def _side(record: Record, static: Static, target: str) -> StaticSide:
    kernels = {target: static.all_kernels} if static.all_kernels else {}
    if static.has_figures:
        return StaticSide(static, kernels)
    why = next(iter(static.unavailable.values()), record.reason)
    return StaticSide(static, kernels, status="unsupported", reason=why)


class BySide:
    """Executor of both sides: a case runs in its side's processes, a reference in the candidate's."""

    def __init__(self, processes: Mapping[str, Executor]) -> None:
        self.processes = processes

    def spawn(self, job: Job, limit_bytes: int) -> Worker:
        side = job.side if job.role == "case" else None
        return self.processes[side or CANDIDATE].spawn(job, limit_bytes)

    def close(self) -> None:
        for processes in self.processes.values():
            processes.close()


def compile_sides(
    groups: Sequence[Group], counterparts: Counterparts, sides: Mapping[str, Side], listener: Listener
) -> dict[str, dict[str, StaticSide]]:
    """Compile and verify each case. The result is by the candidate's id, then by side.

    Kernels of an interpreted case are also compiled for every target. A case without a counterpart has one
    side.
    """
    catalog = sides[CANDIDATE].catalog
    verified: list[tuple[dict[str, CaseState], Settings]] = []
    with ExitStack() as stack:
        processes: dict[str, Processes] = {}
        for name, side in sides.items():
            processes[name] = Processes([], "cpu", interpreter=side.interpreter, path=side.path)
            stack.callback(processes[name].close)
        folder = processes[CANDIDATE].folder
        run = RunContext(BySide(processes), catalog, PROVENANCE, listener, folder, depth="check")
        for index, group in enumerate(groups):
            context, both_sides = open_group(group, counterparts, sides, run)
            if not both_sides:
                continue
            listener.group_started(index, group.key, [pair[CANDIDATE].id for pair in both_sides], None)
            records = GroupRun(context).run()
            listener.group_finished(records, None)
            verified += [(pair, group.settings) for pair in both_sides]
    kernels = {
        name: compile_side(
            side,
            {
                CompileRequest(pair[name].case, target): settings
                for pair, settings in verified
                if BASE in pair and pair[name].is_interpreted
                for target in traits_of(pair[name].info.framework).planned_for
            },
        )
        for name, side in sides.items()
    }
    return {
        pair[CANDIDATE].id: {name: _static_side(state, kernels[name]) for name, state in pair.items()}
        for pair, _ in verified
    }


def _static_side(state: CaseState, compiled: Mapping[CompileRequest, CompileResult]) -> StaticSide:
    """Figures of a case. Kernels are compared only on targets for which it compiles."""
    kernels = {
        request.target: result.static.all_kernels
        for request, result in compiled.items()
        if request.case == state.case and result.status == "ok"
    }
    return StaticSide(
        state.plan.static,
        kernels,
        state.correctness,
        state.call.recompiled,
        status=state.status or "crashed",
        reason=state.reason,
        expected=state.plan.expected,
    )


def missing_compilers(frameworks: Iterable[str]) -> list[str]:
    """Notes on frameworks and kinds of target without an installed kernel compiler."""
    traits = {framework: traits_of(framework) for framework in frameworks}
    kinds = {(name, target.partition(":")[0]) for name in traits for target in traits[name].planned_for}
    return [
        f"kernels of {name} are not compared on {kind}: {why}"
        for name, kind in sorted(kinds)
        if traits[name].by_xla and (why := missing_compiler(kind))
    ]


def run_static(project: Project, options: GateOptions, progress: Progress) -> GateOutcome:
    """Compile both sides, and compare the figures and the contract of every case."""
    with ExitStack() as stack:
        if options.wait:  # lock the processor while this gate compiles, like a benchmark
            stack.enter_context(device_lock("cpu", wait=progress.message))
        plan = stack.enter_context(plan_of(project, options))
        groups = plan.groups()
        progress.total = len(groups)
        compiled = compile_sides(groups, plan.counterparts, plan.sides, progress) if groups else {}
    cases: list[CaseVerdict] = []
    left_out = dict(plan.left_out)
    for case in plan.counterparts:
        if case.id not in compiled:
            left_out[case.id] = "its group did not run"
            continue
        sides = compiled[case.id]
        found = compare(sides.get(BASE), sides[CANDIDATE], partial(plan.accept, case.id))
        if found.verdict is None:
            left_out[case.id] = found.reason
        else:
            reason = plan.new.get(case.id, found.reason) if found.verdict == NEW else found.reason
            cases.append(plan.verdict_on(case, found.verdict, reason, found.notes))
    frameworks = {plan.catalog.implementation(case.implementation).framework for case in plan.counterparts}
    return GateOutcome(
        kind=STATIC,
        base=plan.base,
        cases=(*cases, *unmeasured_verdicts(plan)),
        left_out=left_out,
        notes=(*plan.notes, *missing_compilers(frameworks)),
        slowdown=plan.deltas,
    )
