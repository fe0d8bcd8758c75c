"""Static figures of cases at a base (another commit or environment), and what has changed since."""

import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import NamedTuple

from harness.core.case import Case
from harness.core.errors import SideError, UsageError
from harness.core.plain_data import from_plain
from harness.core.record import Record
from harness.core.scratch_folder import ScratchFolder
from harness.core.static_figures import Static
from harness.gate.outcome import STATIC, CaseVerdict, GateOutcome
from harness.gate.sides.base import base_of
from harness.gate.sides.matching import counterpart
from harness.gate.sides.side import Side
from harness.gate.static.diff import StaticFigures, compare
from harness.gate.static.exact_kernel import ExactKernel
from harness.gate.timed.paired_case import CANDIDATE
from harness.run.compile.compile_worker import CompileWorker
from harness.run.compile.request import CompileRequest
from harness.run.processes.worker_process import Processes
from harness.sweep.project import Project
from harness.sweep.schedule import Schedule

ASK_VERSIONS = """
import json, platform
from harness.catalog.known_frameworks import known, packages_of
from harness.core.version import version_of
versions = {package.name: version_of(package.name) for package in packages_of(known())}
print(json.dumps({**versions, "python": platform.python_version()}))
"""
Versions = Mapping[str, str | None]


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
        f"{name} {old.get(name) or 'none'} to {new[name] or 'none'}"
        for name in sorted(new)
        if old.get(name) != new[name]
    ]
    return f"{base.description} ({', '.join(changes) or 'no version differs'})"


def versions_of(python: str, path: str) -> Versions:
    """The package versions of an interpreter with this import path: its last line, as imports may print."""
    ended = subprocess.run(
        [python, "-c", ASK_VERSIONS],
        env={**os.environ, "PYTHONPATH": path, "PYTHONSAFEPATH": "1"},
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    try:
        return from_plain(Versions, json.loads(ended.stdout.strip().splitlines()[-1]))
    except (ValueError, IndexError):
        said = [*ended.stderr.strip().splitlines(), f"it ended with {ended.returncode}"]
        raise SideError(f"{python} does not say its versions: {said[0]}") from None


def changes_since(base: BaseFigures, records: Sequence[Record], target: str) -> GateOutcome:
    """The gate's verdict on the figures of each case for a target, with the base's as they were."""
    cases: list[CaseVerdict] = []
    left_out: dict[str, str] = {}
    for record in records:
        before, now = base.figures.get((record.case, target)), record.static.get(target)
        if before is None or now is None:
            continue
        sides = (_static_figures(record, before, target), _static_figures(record, now, target))
        verdict, reason, notes = compare(*sides, None)
        if verdict is None:
            left_out[record.case] = reason
        else:
            cases.append(CaseVerdict(record.case, verdict, reason, notes=notes))
    return GateOutcome(STATIC, f"{base.name}, for {target}", tuple(cases), left_out)


def _static_figures(record: Record, static: Static, target: str) -> StaticFigures:
    kernels = tuple(ExactKernel.of(kernel, target) for kernel in static.all_kernels)
    return StaticFigures.of(
        static,
        kernels={target: kernels} if kernels else {},
        framework=record.framework,
        owners=static.owners,
        status="ok" if static.has_figures else "unsupported",
        reason=None if static.has_figures else next(iter(static.unavailable.values()), record.reason),
    )
