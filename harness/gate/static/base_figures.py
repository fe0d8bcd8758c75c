"""Static figures of cases at a base (another commit or environment), with the buffers of their peaks."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import NamedTuple

from harness.core.case import Case
from harness.core.errors import UsageError
from harness.core.scratch_folder import ScratchFolder
from harness.core.static_figures import Static
from harness.gate.sides.base import base_of
from harness.gate.sides.matching import counterpart
from harness.gate.sides.side import Side
from harness.gate.static.compiler_versions import version_changes, versions_of
from harness.gate.timed.paired_case import CANDIDATE
from harness.run.compile.compile_worker import CompileWorker
from harness.run.compile.request import CompileRequest
from harness.run.processes.worker_process import Processes
from harness.sweep.project import Project
from harness.sweep.schedule import Schedule


class BaseFigures(NamedTuple):
    """`name` describes the base; `figures` are by the candidate's case id and the target."""

    name: str
    figures: Mapping[tuple[str, str], Static]


def compile_base(
    project: Project, schedule: Schedule, targets: Sequence[str], against: str, tell: Callable[[str], None]
) -> BaseFigures:
    """The figures of a schedule's cases at the base that `--against` names; errors are those of `base_of`.

    They are compiled one after the other and not cached: the cache's key covers this environment alone.
    """
    if against.startswith("impl:"):
        raise UsageError("--against: is git:REF or py:INTERPRETER; name two implementations to compare them")
    settings = {case: group.settings for group in schedule.groups for case in group.cases}
    candidate = Side(CANDIDATE, "the working tree", project.catalog)
    wanted = {case.implementation for case in settings}
    figures: dict[tuple[str, str], Static] = {}
    with (
        ScratchFolder("gate-") as folder,
        base_of(against, candidate, project.config.path, project.plugins, folder, wanted=wanted) as base,
        closing(Processes([], "cpu", interpreter=base.side.interpreter, path=base.side.path)) as processes,
        closing(CompileWorker(base.side.catalog, processes)) as worker,
    ):
        tell(f"compiling the base, {base.side.description}, for {', '.join(targets)}; cases: {len(settings)}")
        for case, own in settings.items():
            theirs = counterpart(case, candidate, base.side)
            for target in targets:
                if isinstance(theirs, Case):
                    answer = worker.compile(CompileRequest(theirs, target, owners=True), own)
                    figures[case.id, target] = answer.on_target(target, own.memory_bytes).static
                else:
                    figures[case.id, target] = Static.none(theirs or "the base has no such case")
        return BaseFigures(_name_of(base.side, candidate), figures)


def _name_of(base: Side, candidate: Side) -> str:
    """The base's description; for another environment with the versions that differ."""
    if base.interpreter == candidate.interpreter:
        return base.description
    old, new = (versions_of(side.interpreter, base.path[0]) for side in (base, candidate))
    changes = [
        f"{name} {before or 'none'} to {now or 'none'}"
        for name, (before, now) in version_changes(old, new).items()
    ]
    return f"{base.description} ({', '.join(changes) or 'no version differs'})"
