"""What commands print: one JSON object, or rich text as wide as whoever reads it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer

from harness.sweep.project import Asked

if TYPE_CHECKING:
    from rich.console import Console

    from harness.core.record import Record
    from harness.report.progress import Progress
    from harness.sweep.schedule import Schedule

PLAIN_COLUMNS = 140  # of a pipe or a file, which has no width of its own


def console() -> Console:
    from rich.console import Console

    plain = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return Console(highlight=False, width=PLAIN_COLUMNS if plain else None)


def print_json(data: Mapping[str, Any]) -> None:
    import orjson

    sys.stdout.buffer.write(orjson.dumps(data, option=orjson.OPT_NON_STR_KEYS) + b"\n")


def print_run_or_json(
    info: Mapping[str, Any],
    records: Sequence[Record],
    overhead: Mapping[str, Any] | None,
    problems: Sequence[str],
    *,
    json: bool,
) -> None:
    """A run's tables, or its data."""
    if json:
        from harness.report.run_json import run_data

        for problem in problems:
            typer.echo(problem, err=True)
        print_json(run_data(info, records, overhead))
    else:
        from harness.report.run_report import print_run

        print_run(console(), info, records, overhead, problems)


def print_list(asked: Asked) -> None:
    """What exists: families, implementations and targets."""
    from harness.catalog.accelerators import absent, accelerators

    catalog, _ = asked.catalog()
    targets = list(accelerators().values())
    if asked.json:
        print_json({**catalog.to_json(), "targets": [asdict(one) for one in targets]})
    else:
        from harness.report.tables.listing import families_table, targets_table

        missing = {one.kind: why for one in targets if (why := absent(one.kind))}
        console().print(families_table(catalog), targets_table(targets, missing))


def print_dry_run(asked: Asked) -> None:
    """What a run would do; nothing runs."""
    from harness.run import dry_run as rehearsal
    from harness.run.session import known_seconds

    schedule, catalog = asked.schedule()
    progress = progress_of(schedule)
    try:
        rows = rehearsal.dry_run(schedule, catalog, known_seconds(asked.results), progress)
    finally:
        progress.close()
    if asked.json:
        print_json({"cases": [vars(row) for row in rows]})
    else:
        from harness.report.tables.listing import schedule_table

        console().print(schedule_table([tuple(vars(row).values()) for row in rows]))


def progress_of(schedule: Schedule) -> Progress:
    """The progress of a schedule's groups, on standard error."""
    from rich.console import Console

    from harness.report.progress import Progress

    return Progress(len(schedule.groups) * schedule.replicates, Console(stderr=True, highlight=False))
