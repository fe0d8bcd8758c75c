"""`gate --static`: static figures and contracts of both sides, compared exactly; no clock."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial

from harness.catalog.accelerators import missing_compiler
from harness.catalog.known_frameworks import traits_of
from harness.core.protocol import Job
from harness.gate.options import GateOptions
from harness.gate.outcome import NEW, STATIC, CaseVerdict, GateOutcome
from harness.gate.plan import GatePlan, plan_of, unmeasured_verdicts
from harness.gate.sides.side import Side
from harness.gate.static.base_figures import compile_side
from harness.gate.static.diff import StaticSide, StaticVerdict, compare
from harness.gate.timed.paired_case import BASE, CANDIDATE, PROVENANCE, Opponents, open_group
from harness.report.progress import Progress
from harness.run.case.case_state import CaseState
from harness.run.compile import CompileRequest, CompileResult
from harness.run.events import Listener
from harness.run.group.group_run import GroupRun
from harness.run.group.run_context import RunContext
from harness.run.machine.lock import device_lock
from harness.run.processes.executor import Executor, Worker
from harness.run.processes.worker_process import Processes
from harness.sweep.project import Project
from harness.sweep.schedule import Group
from harness.sweep.settings import Settings


class BySide:
    """The executor of both sides: a case runs in its own side's processes, a reference in the candidate's."""

    def __init__(self, processes: Mapping[str, Executor]) -> None:
        self.processes = processes

    def spawn(self, job: Job, limit_bytes: int) -> Worker:
        side = job.side if job.role == "case" else None
        return self.processes[side or CANDIDATE].spawn(job, limit_bytes)

    def close(self) -> None:
        for processes in self.processes.values():
            processes.close()


def compile_sides(
    groups: Sequence[Group], opponents: Opponents, sides: Mapping[str, Side], listener: Listener
) -> dict[str, dict[str, StaticSide]]:
    """Each case by the candidate's id, then by side: compiled and verified.

    The kernels of a case that is interpreted are compiled once more, for every target. A case without a
    counterpart has one side.
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
            context, both_sides = open_group(group, opponents, sides, run)
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
    """What is known of a case. On a target whose compiler refuses it, no kernels are compared."""
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
    """A note per framework and kind of target whose kernel compiler is not installed."""
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
        if options.wait:  # hold the processor's lock while this gate compiles, as a benchmark does
            stack.enter_context(device_lock("cpu", wait=progress.message))
        plan = stack.enter_context(plan_of(project, options))
        groups = plan.groups()
        progress.total = len(groups)
        compiled = compile_sides(groups, plan.opponents, plan.sides, progress) if groups else {}
    verdicts = {
        case: compare(sides.get(BASE), sides[CANDIDATE], partial(plan.accept, case))
        for case, sides in compiled.items()
    }
    frameworks = {plan.catalog.implementation(case.implementation).framework for case in plan.opponents}
    cases, left_out = _verdicts(plan, verdicts)
    return GateOutcome(
        kind=STATIC,
        base=plan.base,
        cases=cases,
        left_out={**plan.left_out, **left_out},
        notes=(*plan.notes, *missing_compilers(frameworks)),
        slowdown=plan.deltas,
    )


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
