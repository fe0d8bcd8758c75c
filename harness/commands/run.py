"""`run`, `check` and `static`: run a schedule, and report how it ended."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from harness.commands.exit_codes import INCORRECT, NOTHING, STOPPED
from harness.commands.output import progress_of
from harness.commands.streams import print_line
from harness.core.errors import UsageError
from harness.core.typed_command import resuming_command, typed_command

FAILURES = ("crashed", "timeout", "unsupported")  # statuses that --strict rejects
# The verb for a finished case, by depth.
DONE = {"run": "measured", "profile": "profiled", "check": "checked", "static": "compiled"}

if TYPE_CHECKING:
    from harness.core.record import Record
    from harness.run.group.run_context import ProfileExtras
    from harness.run.session import Done
    from harness.sweep.project import Project
    from harness.sweep.schedule import Schedule


def run_schedule(
    project: Project,
    schedule: Schedule,
    *,
    depth: str = "run",
    resume: bool = False,
    checks: Collection[str] | None = (),
    wait: bool = False,
    extras: ProfileExtras | None = None,
    max_seq: bool = False,
    owners: bool = False,
    targets: Sequence[str] = (),
) -> Done:
    """Measure a schedule, check its contracts (`check`) or compile it (`static`), and store the run."""
    from harness.run.session import STAGES_ONLY, Request, execute

    report_left_out(schedule)
    request = Request(
        *(schedule, project.catalog, project.results, typed_command(), depth),
        *(resume, checks, wait, extras or STAGES_ONLY),
    )
    with closing(progress_of(schedule)) as progress:
        if depth != "static":
            return execute(request, progress)
        from harness.run.compile.static_run import static_run

        return static_run(request, tuple(targets), progress, longest=max_seq, owners=owners)


def report_left_out(schedule: Schedule) -> None:
    """Print on standard error which suites are left out, because a named model lacks their family."""
    for why in schedule.left_out:
        print_line(f"left out: {why}", err=True)


def known_targets(names: Sequence[str]) -> tuple[str, ...]:
    """The targets to compile for (default: the host). UsageError for an unknown one."""
    from harness.catalog.accelerators import HOST, target

    targets = tuple(dict.fromkeys(names)) or (HOST,)
    for name in targets:
        target(name)
    return targets


def end_run(done: Done, *, strict: bool) -> int:
    """The exit code of a run. If it was stopped, stderr says how to resume it."""
    from harness.core.record import TIMED, UNJUDGED

    depth, records = done.folder.info["depth"], done.records
    if done.interrupted:
        print_line(f"stopped; the {DONE[depth]} cases are in {done.folder.path}", err=True)
        again = f"{depth} again with: {shlex.join(typed_command())}"
        print_line(f"resume with: {resuming_command()}" if depth in TIMED else again, err=True)
        return STOPPED
    faults = {record.family: record.reason for record in records if record.status == UNJUDGED}
    for family, reason in faults.items():
        print_line(f"not checked: {reason}; fix family {family}", err=True)
    if any(record.unexpected for record in records):
        return INCORRECT
    if faults:
        return UsageError.exit_code
    if depth == "static":
        known = any(static.has_figures for record in records for static in record.static.values())
        return _code_of(records, "compiled", known, strict=strict)
    timed = depth in TIMED
    return _code_of(records, "measured", any(_is_measured(r, timed=timed) for r in records), strict=strict)


def _is_measured(record: Record, *, timed: bool) -> bool:
    """Whether a case was timed, or is incorrect as declared; if not `timed`, whether it was checked."""
    from harness.core.record import PLANNED

    if record.status == PLANNED:
        timed = False
    declared = record.status == "incorrect" and record.expected
    return record.timing is not None or declared or (not timed and record.correctness is not None)


def _code_of(records: Sequence[Record], verb: str, known: bool, *, strict: bool) -> int:
    """0, or NOTHING with a sentence on stderr, so that a script does not mistake it for success."""
    failed = Counter(record.status for record in records if not record.expected)
    listed = ", ".join(f"{count} {status}" for status, count in failed.items() if status != "ok")
    if not known:
        print_line(f"nothing was {verb}: {listed or 'no case was selected'}; see the reasons above", err=True)
        return NOTHING
    if strict and any(failed[status] for status in FAILURES):
        print_line(f"--strict: {listed}; see the reasons above", err=True)
        return NOTHING
    return 0
