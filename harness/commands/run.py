"""The commands that make a run: they conduct it, tell what came of it, and say how it ended."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

import typer

from harness.commands.output import print_run_or_json, progress_of
from harness.sweep.project import Asked, words

if TYPE_CHECKING:
    from harness.run.session import Done

INCORRECT, STOPPED = 4, 130


def conduct(asked: Asked, depth: str, version: str, *, resume: bool = False) -> int:
    """A run of this depth; its exit code."""
    from harness.run.session import Request
    from harness.run.session import conduct as run

    schedule, catalog = asked.schedule()
    checks = asked.checks(catalog) if depth == "check" else ()
    request = Request(schedule, catalog, asked.results, command(), depth, version, resume, checks)
    progress = progress_of(schedule)
    try:
        done = run(request, progress)
    finally:
        progress.close()
    _tell(asked, done)
    if done.outcome.interrupted:
        typer.echo(f"stopped; what was measured is in {done.folder.path}", err=True)
        again = shlex.join(word for word in command() if word != "--resume")
        typer.echo(f"resume with: {again} --resume", err=True)
        return STOPPED
    return INCORRECT if any(record.unexpected for record in done.outcome.records) else 0


def compile_for(asked: Asked, version: str, *, longest: bool) -> int:
    """The static figures of a schedule for the targets asked for; the exit code."""
    from harness.catalog.accelerators import HOST, target
    from harness.run.compile.static_run import static_run
    from harness.run.session import Request

    targets = tuple(dict.fromkeys(words(asked.flags.get("target")))) or (HOST,)
    for name in targets:
        target(name)
    schedule, catalog = Asked({**asked.flags, "device": ["cpu"]}).schedule()  # a target is no device
    request = Request(schedule, catalog, asked.results, command(), "static", version)
    progress = progress_of(schedule)
    try:
        done = static_run(request, targets, progress, longest=longest)
    finally:
        progress.close()
    _tell(asked, done)
    if done.outcome.interrupted:
        typer.echo(f"stopped; what was compiled is kept, with its records in {done.folder.path}", err=True)
        typer.echo(f"go on with: {shlex.join(command())}", err=True)
        return STOPPED
    return 0


def command() -> list[str]:
    return ["seqsweep", *sys.argv[1:]]


def _tell(asked: Asked, done: Done) -> None:
    outcome = done.outcome
    print_run_or_json(done.folder.info, outcome.records, outcome.overhead, (), json=asked.json)
