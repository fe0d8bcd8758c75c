"""Compile every case on both sides and verify it by its contract; no clock is read.

For a case whose calls are interpreted on this machine, its kernels are also compiled for accelerators.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from typing import NamedTuple

from harness.catalog.accelerators import missing_compiler
from harness.catalog.known_frameworks import traits_of
from harness.core.errors import Unsupported
from harness.core.grouped import grouped
from harness.core.peak_owners import Owners
from harness.core.plain_data import from_plain
from harness.core.protocol import Job
from harness.core.static_figures import Static
from harness.gate.sides.side import Side
from harness.gate.static.exact_kernel import ExactKernel
from harness.gate.static.plan_owners import plan_owners, plans_more
from harness.gate.timed.context import PROVENANCE, Opponents, open_group
from harness.gate.timed.paired_case import BASE, CANDIDATE
from harness.run.case.case_state import CaseState
from harness.run.events import Listener
from harness.run.group.group_context import GroupContext
from harness.run.group.group_run import GroupRun
from harness.run.group.run_context import RunContext
from harness.run.processes.executor import Ended, Executor, Worker
from harness.run.processes.worker_process import Processes
from harness.sweep.schedule import Group

COMPILE_TURNS = 5  # a compiler's timeout for one case, in timeouts of a call

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
        side = job.side if job.role in {"case", "target"} else None
        return self.processes[side or CANDIDATE].spawn(job, limit_bytes)

    def close(self) -> None:
        for processes in self.processes.values():
            processes.close()


def compile_sides(
    groups: Sequence[Group],
    opponents: Opponents,
    sides: Mapping[str, Side],
    listener: Listener,
    kept: Callable[[str], bool],
) -> CompiledCases:
    """All cases compiled, with their kernels.

    Kernels are compiled only where they are compared: with a counterpart's, or with those of the committed
    file, which has the cases for whose ids `kept` is true.
    """
    catalog = sides[CANDIDATE].catalog
    compiled: CompiledCases = {}
    with ExitStack() as stack:
        processes: dict[str, Processes] = {}
        for name, side in sides.items():
            frameworks = _frameworks(opponents, sides, name)
            processes[name] = Processes(frameworks, "cpu", interpreter=side.interpreter, path=side.path)
            stack.callback(processes[name].close)
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
                compared = len(pair) > 1 or kept(case)
                compiled[case] = {
                    name: CompiledSide(
                        state,
                        compile_kernels(context, state) if compared else {},
                        plan_owners(context, state) if owned else None,
                    )
                    for name, state in pair.items()
                }
    return compiled


def compile_kernels(context: GroupContext, state: CaseState) -> KernelsByTarget:
    """The kernels of a case by target; empty where it has none, or where no compiler accepts them.

    A kernel that is refused on either side leaves nothing to compare.
    """
    if not state.is_interpreted:
        return {}
    traits = traits_of(state.info.framework)
    kernels: dict[str, tuple[ExactKernel, ...]] = {}
    context.folder.mkdir(parents=True, exist_ok=True)
    try:
        for kind, targets in grouped(traits.planned_for, kind_of).items():
            if not traits.by_xla or missing_compiler(kind) is None:
                kernels.update(_compile_for(targets, context, state))
    finally:
        context.close()
    return kernels


def _compile_for(targets: Sequence[str], context: GroupContext, state: CaseState) -> KernelsByTarget:
    """The kernels of a case by target, all of a kind: one process compiles for them."""
    timeout_s = COMPILE_TURNS * context.settings.timeout_s
    kernels: dict[str, tuple[ExactKernel, ...]] = {}
    job = context.job("target", state.info.framework, state)
    with (
        suppress(Unsupported, Ended),
        closing(context.run.executor.spawn(job, context.settings.memory_bytes)) as compiler,
    ):
        for target in targets:
            answer = compiler.ask("compile", timeout_s, job=job.to_json(), name=target)
            static = from_plain(Static, answer["static"])
            kernels[target] = tuple(ExactKernel.of(kernel, target) for kernel in static.all_kernels)
    return kernels


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
