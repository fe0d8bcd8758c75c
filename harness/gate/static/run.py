"""`gate --static`: static figures and contracts of both sides, compared exactly; no clock."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from typing import NamedTuple

from harness.catalog.accelerators import HOST, missing_compiler
from harness.catalog.known_frameworks import traits_of
from harness.core.peak_owners import Owners
from harness.core.protocol import Job
from harness.gate.options import GateOptions
from harness.gate.outcome import NEW, STATIC, CaseVerdict, GateOutcome
from harness.gate.plan import GatePlan, unmeasured_verdicts
from harness.gate.planning import plan_of
from harness.gate.report.progress import GateProgress
from harness.gate.sides.side import Side
from harness.gate.static.diff import MEMORY, StaticFigures, StaticVerdict, compare
from harness.gate.static.exact_kernel import ExactKernel
from harness.gate.timed.context import PROVENANCE, Opponents, open_group
from harness.gate.timed.paired_case import BASE, CANDIDATE
from harness.run.case.case_state import CaseState
from harness.run.compile import CompileRequest
from harness.run.compile.compile_worker import CompileWorker
from harness.run.events import Listener
from harness.run.group.group_run import GroupRun
from harness.run.group.run_context import RunContext
from harness.run.machine.lock import device_lock
from harness.run.processes.executor import Executor, Worker
from harness.run.processes.worker_process import Processes
from harness.sweep.project import Project
from harness.sweep.schedule import Group
from harness.sweep.settings import Settings

KernelsByTarget = Mapping[str, tuple[ExactKernel, ...]]


class CompiledSide(NamedTuple):
    """A settled case on one side; `owners` are those of its planned peak, if the candidate's is larger."""

    state: CaseState
    kernels: KernelsByTarget
    owners: Owners | None


# By the candidate's case id, then by side; a case without a counterpart has one side.
CompiledCases = dict[str, dict[str, CompiledSide]]


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
    groups: Sequence[Group],
    opponents: Opponents,
    sides: Mapping[str, Side],
    listener: Listener,
) -> CompiledCases:
    """All cases compiled and verified, and the kernels of those that are interpreted and have a counterpart.

    A case whose planned memory has increased is compiled again for its buffers: the verdict rests on the
    figures, the buffers show where to look.
    """
    catalog = sides[CANDIDATE].catalog
    compiled: CompiledCases = {}
    with ExitStack() as stack:
        processes: dict[str, Processes] = {}
        compilers: dict[str, CompileWorker] = {}
        for name, side in sides.items():
            frameworks = _frameworks(opponents, sides, name)
            processes[name] = Processes(frameworks, "cpu", interpreter=side.interpreter, path=side.path)
            stack.callback(processes[name].close)
            compilers[name] = stack.enter_context(closing(CompileWorker(side.catalog, processes[name])))
        executor = BySide(processes)
        folder = processes[CANDIDATE].folder
        run = RunContext(executor, catalog, PROVENANCE, listener, folder, depth="check")
        for index, group in enumerate(groups):
            context, both_sides = open_group(group, opponents, sides, run)
            if not both_sides:
                continue
            listener.group_started(index, group.key, [pair[CANDIDATE].id for pair in both_sides], None)
            records = GroupRun(context).run()
            listener.group_finished(records, None)
            for pair in both_sides:
                case = pair[CANDIDATE].id
                owned = BASE in pair and plans_more(pair[BASE], pair[CANDIDATE])
                compared, settings = BASE in pair, group.settings
                compiled[case] = {
                    name: CompiledSide(
                        state,
                        compile_kernels(compilers[name], state, settings) if compared else {},
                        plan_owners(compilers[name], state, settings) if owned else None,
                    )
                    for name, state in pair.items()
                }
    return compiled


def compile_kernels(compiler: CompileWorker, state: CaseState, settings: Settings) -> KernelsByTarget:
    """The kernels of a case by target; empty where it has none, or where no compiler accepts them.

    A kernel that is refused on either side leaves nothing to compare.
    """
    if not state.is_interpreted:
        return {}
    traits = traits_of(state.info.framework)
    targets = [t for t in traits.planned_for if not traits.by_xla or missing_compiler(kind_of(t)) is None]
    answers = {name: compiler.compile(CompileRequest(state.case, name), settings) for name in targets}
    return {
        name: tuple(ExactKernel.of(kernel, name) for kernel in answer.static.all_kernels)
        for name, answer in answers.items()
        if answer.status == "ok"
    }


def plans_more(before: CaseState, now: CaseState) -> bool:
    """Whether any of the candidate's memory figures is larger than the base's."""
    pairs = [(getattr(before.plan.static, name), getattr(now.plan.static, name)) for name in MEMORY]
    return any(old is not None and new is not None and new > old for old, new in pairs)


def plan_owners(compiler: CompileWorker, state: CaseState, settings: Settings) -> Owners | None:
    """The owners of a case's planned peak; None where its framework gives none."""
    return compiler.compile(CompileRequest(state.case, HOST, owners=True), settings).static.owners


def kind_of(target: str) -> str:
    return target.partition(":")[0]


def missing_compilers(frameworks: Iterable[str]) -> list[str]:
    """A note per framework and kind of target whose kernel compiler is not installed."""
    notes: list[str] = []
    for framework in sorted(set(frameworks)):
        traits = traits_of(framework)
        kinds = sorted({kind_of(target) for target in traits.planned_for if traits.by_xla})
        notes += [
            f"kernels of {framework} are not compared on {kind}: {why}"
            for kind in kinds
            if (why := missing_compiler(kind))
        ]
    return notes


def _frameworks(opponents: Opponents, sides: Mapping[str, Side], name: str) -> list[str]:
    catalog = sides[name].catalog
    cases = [case if name == CANDIDATE else theirs for case, theirs in opponents.items()]
    needed = {catalog.implementation(case.implementation).framework for case in cases if case is not None}
    if name == CANDIDATE:
        needed |= catalog.reference_frameworks({case.implementation for case in opponents})
    return sorted(needed)


def run_static(project: Project, options: GateOptions, progress: GateProgress) -> GateOutcome:
    """Compile both sides, and compare the figures and the contract of every case."""
    with ExitStack() as stack:
        if options.wait:  # hold the processor's lock while this gate compiles, as a benchmark does
            stack.enter_context(device_lock("cpu", wait=progress.message))
        plan = stack.enter_context(plan_of(project, options))
        groups = plan.groups()
        progress.total = len(groups)
        compiled = compile_sides(groups, plan.opponents, plan.sides, progress) if groups else {}
    verdicts: dict[str, StaticVerdict] = {}
    frameworks: set[str] = set()
    for case, sides in compiled.items():
        base, candidate = sides.get(BASE), _static_figures(sides[CANDIDATE])
        frameworks.add(candidate.framework)
        verdicts[case] = compare(
            _static_figures(base) if base else None,
            candidate,
            lambda figure, case=case: plan.accept(case, figure),
        )
    cases, left_out = _verdicts(plan, verdicts)
    return GateOutcome(
        kind=STATIC,
        base=plan.base,
        cases=cases,
        left_out={**plan.left_out, **left_out},
        notes=(*plan.notes, *missing_compilers(frameworks)),
        slowdown=plan.deltas,
    )


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
