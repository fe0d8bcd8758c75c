"""Static figures of cases at a side of a gate, compiled on every core, and what has changed since a base."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import NamedTuple

from harness.catalog import child_process
from harness.catalog.discovery import VERSIONS
from harness.catalog.known_frameworks import versions
from harness.core.case import Case
from harness.core.errors import SideError, UsageError
from harness.core.record import Record
from harness.core.scratch_folder import ScratchFolder
from harness.core.static_figures import Static
from harness.gate.outcome import STATIC, CaseVerdict, GateOutcome
from harness.gate.sides.base import base_of
from harness.gate.sides.matching import counterpart
from harness.gate.sides.side import Side
from harness.gate.static.diff import StaticSide, compare
from harness.gate.timed.paired_case import CANDIDATE
from harness.run.compile import CompileRequest, CompileResult, Pool
from harness.run.compile.pool import workers_of
from harness.run.processes.worker_process import Processes
from harness.sweep.project import Project
from harness.sweep.schedule import Schedule
from harness.sweep.settings import Settings

VERSIONS_SECONDS = 60.0


def compile_side(
    side: Side, requests: Mapping[CompileRequest, Settings]
) -> dict[CompileRequest, CompileResult]:
    """The results of one side's cases by its own interpreter and import path."""
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
    """`name` describes the base; `figures` are by the candidate's case id and the target."""

    name: str
    figures: Mapping[tuple[str, str], Static]


def compile_base(
    project: Project, schedule: Schedule, targets: Sequence[str], against: str, tell: Callable[[str], None]
) -> BaseFigures:
    """The figures of a schedule's cases at the base that `--against` names; errors are those of `base_of`."""
    if against.startswith("impl:"):
        raise UsageError("--against: is git:REF or py:INTERPRETER; name two implementations to compare them")
    settings = {case: group.settings for group in schedule.groups for case in group.cases}
    candidate = Side(CANDIDATE, "the working tree", project.catalog)
    wanted = {case.implementation for case in settings}
    with (
        ScratchFolder("gate-") as folder,
        base_of(against, candidate, project.config.path, project.plugins, folder, wanted=wanted) as base,
    ):
        tell(f"compiling the base, {base.side.description}, for {', '.join(targets)}; cases: {len(settings)}")
        opponents = {case: counterpart(case, candidate, base.side) for case in settings}
        asked = {
            CompileRequest(theirs, target, owners=True): settings[case]
            for case, theirs in opponents.items()
            if isinstance(theirs, Case)
            for target in targets
        }
        results = compile_side(base.side, asked)
        figures = {
            (case.id, target): results[CompileRequest(theirs, target, owners=True)].static
            if isinstance(theirs, Case)
            else Static.none(theirs or "the base has no such case")
            for case, theirs in opponents.items()
            for target in targets
        }
        return BaseFigures(_name_of(base.side, candidate), figures)


def _name_of(base: Side, candidate: Side) -> str:
    """The base's description; for another environment with the versions that differ."""
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
        raise SideError(f"{base.interpreter} does not say its versions: {error}") from None
    changes = [
        f"{name} {old.get(name) or 'none'} to {new[name] or 'none'}"
        for name in sorted(new)
        if old.get(name) != new[name]
    ]
    return f"{base.description} ({', '.join(changes) or 'no version differs'})"


def changes_since(base: BaseFigures, records: Sequence[Record], target: str) -> GateOutcome:
    """The gate's verdict on the figures of each case for a target, with the base's as they were."""
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
