"""Output of commands: one JSON object, or rich text as wide as the terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.commands.measured_rooflines import ROOF, known_rooflines
from harness.commands.streams import print_line
from harness.core.errors import UsageError
from harness.core.shown_text import SPELLED, escape_json
from harness.core.typed_command import quick_notes
from harness.core.units import format_bytes

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from harness.analysis.compare_runs import SideBySide
    from harness.analysis.machine_speedups import MachineSpeedups
    from harness.catalog.catalog import Catalog
    from harness.core.record import Record
    from harness.report.progress import Progress
    from harness.run.session import Done
    from harness.store.prune import PrunedRun
    from harness.store.stored_run import Stored
    from harness.sweep.schedule import Schedule

PLAIN_COLUMNS = 140  # of a pipe or a file, which has no width of its own


def console() -> Console:
    from harness.report.console import TextConsole

    plain = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return TextConsole(width=PLAIN_COLUMNS if plain else None)


def print_json(data: Mapping[str, Any]) -> None:
    import msgspec

    from harness.core.plain_data import plain_number

    try:
        text = msgspec.json.encode(data, enc_hook=plain_number).decode()
    except UnicodeEncodeError:  # a file's name that is not UTF-8: json escapes its bytes
        text = dumps(msgspec.to_builtins(data, enc_hook=plain_number))
    text = escape_json(text, ascii_only=sys.stdout.encoding == SPELLED)
    sys.stdout.buffer.write(text.encode() + b"\n")


def print_table(data: Mapping[str, Any], table: Callable[[], RenderableType], *, json: bool) -> None:
    """Print data as JSON, or the table of it, which is built only for a terminal."""
    if json:
        print_json(data)
    else:
        console().print(table())


def print_note(text: str) -> None:
    """Print a line on standard error, beside the output proper."""
    print_line(text, err=True)


def print_problems(stored: Stored) -> None:
    """Print on standard error what a reader of a run's figures must know, and what could not be read."""
    for problem in (*quick_notes(stored.info), *stored.problems):
        print_note(problem)


def print_run(done: Done, columns: Sequence[str] = (), *, json: bool, notes: bool = False) -> None:
    """Print the tables of a run that has just ended, with the columns asked for."""
    print_stored(stored_of(done, columns), columns, json=json, notes=notes)


def stored_of(done: Done, columns: Sequence[str] = ()) -> Stored:
    """A run that has just ended as its readers see it, with the ceilings where a column shows them."""
    folder, stored = done.folder, done.stored
    info = {**stored.info, "fingerprints": folder.fingerprints()}
    if ROOF in columns:
        info["rooflines"] = known_rooflines(folder.results)
    return replace(stored, info=info)


def print_stored(stored: Stored, columns: Sequence[str] = (), *, json: bool, notes: bool = False) -> None:
    """Print the tables of a stored run, with the columns asked for."""
    info, records, problems = stored.info, stored.records, stored.problems
    if json:
        print_json(data_of(stored))
    else:
        from harness.report import run_report

        run_report.print_run(console(), info, records, problems, columns, notes=notes)


def data_of(stored: Stored) -> dict[str, Any]:
    """A run as the object that `run --json` prints; its problems go to standard error."""
    from harness.report.run_json import run_data

    print_problems(stored)
    return run_data(stored.info, stored.records)


def print_new(file: Path, commands: Sequence[str], *, json: bool) -> None:
    """Print the file that was written, and what to type next."""
    if json:
        print_json({"file": str(file), "next": commands})
    else:
        print_line("\n".join([f"wrote {file}", *(f"next: {command}" for command in commands)]))


def print_plan(schedule: Schedule, *, json: bool) -> None:
    """Print the suites of a dry run."""
    from harness.run.dry_run import count_cases

    suites, total, budget_s = count_cases(schedule)
    if json:
        print_json({"suites": [vars(suite) for suite in suites]})
    else:
        from harness.report.tables.listing import dry_run_table

        console().print(dry_run_table(suites, total, budget_s))
        print_line("seqsweep static compiles every case, and says what each plans.")


def progress_of(schedule: Schedule) -> Progress:
    """The progress of a schedule's groups, on standard error."""
    from harness.report.console import TextConsole
    from harness.report.progress import Progress

    return Progress(len(schedule.groups) * schedule.replicates, TextConsole(stderr=True))


def print_catalog(catalog: Catalog, *, json: bool) -> None:
    """Print what exists: families, implementations and targets."""
    from harness.catalog.accelerators import accelerators, missing_compiler

    targets = list(accelerators().values())
    if json:
        print_json({**catalog.to_json(), "targets": [asdict(target) for target in targets]})
    else:
        from harness.report.tables.listing import families_table, known_targets_table

        missing = {target.kind: why for target in targets if (why := missing_compiler(target.kind))}
        console().print(families_table(catalog), known_targets_table(targets, missing))


def print_family(
    catalog: Catalog,
    name: str,
    semantics: Sequence[Mapping[str, Any]],
    reason: str,
    *,
    contracts: bool,
    json: bool,
) -> None:
    """Print all about one family; `reason` says why its semantics are missing. JSON always has contracts."""
    family, members = catalog.family(name), catalog.of_family(name)
    if json:
        listed = {"implementations": [asdict(info) for info in members], "reason": reason}
        print_json({**asdict(family), "semantics": semantics, **listed})
    else:
        from harness.report.tables.listing import family_page

        console().print(family_page(family, members, semantics, reason, contracts=contracts))


def print_profile(records: Sequence[Record], results: Path, *, json: bool) -> None:
    """Print every profiled case, with its share of the ceilings that `results` keeps.

    Standard error has a line for each that has no profile.
    """
    from harness.profile.report import print_profiles, profile_data, roof_data
    from harness.profile.stage_times import profiled_series

    series, rooflines = profiled_series(records), known_rooflines(results)
    for record in records:
        if record.profile is None:
            warnings = record.timing.warnings if record.timing else ()
            why = record.reason or next((w for w in warnings if w.startswith("not profiled")), "not profiled")
            print_note(f"{record.case}: {why}")
    if json:
        data = {**profile_data(series), "roofs": list(roof_data(series, rooflines))}
        print_json({**data, "records": [record.to_json() for record in records]})
    else:
        print_profiles(console(), series, rooflines)


def print_comparison(sides: SideBySide, out: Path | None = None, *, json: bool, notes: bool = False) -> None:
    """Print a comparison, case by case, and draw it into the file if one is named."""
    if out is not None:
        from harness.report.charts.comparison import draw_comparison

        write_data(draw_comparison(sides), out)
    if json:
        print_json(sides.to_json())
    else:
        from harness.report.run_report import print_sides

        print_sides(console(), sides, notes=notes)


def print_machine_speedups(found: Sequence[MachineSpeedups], *, json: bool) -> None:
    """Print every comparison by machine, and the facts of each machine as data."""
    from harness.core.fingerprint_identity import hashed_facts
    from harness.report.tables import compare_runs

    if json:
        machines = {machine.fingerprint: machine for one in found for machine in one.machines}
        facts = {fingerprint: hashed_facts(machine.facts) for fingerprint, machine in machines.items()}
        data = [{**one.to_json(), "sentence": compare_runs.sentence(one)} for one in found]
        print_json({"comparisons": data, "fingerprints": facts})
    else:
        compare_runs.print_machine_speedups(console(), found)


def print_pruned(pruned: Iterable[PrunedRun], *, json: bool, dry_run: bool) -> None:
    """Print, one by one, which runs are deleted, or would be, and which are left."""
    if json:
        print_json({"dry_run": dry_run, "runs": [vars(run) for run in pruned]})
        return
    verb = "would delete" if dry_run else "deleted"
    for run in pruned:
        said = (
            f"left {run.path}: {run.left}" if run.left else f"{verb} {run.path} ({format_bytes(run.bytes)})"
        )
        print_line(said)


def print_lines(what: str, lines: Sequence[str], *, json: bool) -> None:
    """Print lines, or as JSON a list of them under the name of what they are."""
    if json:
        print_json({what: lines})
    else:
        for line in lines:
            print_line(line)


def write_data(data: bytes, out: Path | None, flag: str = "--out") -> None:
    """Write the file that a flag names, whole, or standard output. MachineError where it cannot be."""
    if out is None:
        sys.stdout.buffer.write(data)
    elif out.exists() and not out.is_file():
        raise UsageError(f"{flag} {out}: is no file; name one")
    else:
        from harness.store.atomic import write_files

        file = out.resolve()  # a link stays, and leads to what is written
        write_files(file.parent, {file.name: data})


def print_kernels(records: Sequence[Record], targets: Sequence[str]) -> None:
    """Print all about the kernels of every case on every target, or why there is none."""
    from harness.report.tables.kernels import kernel_page

    for record in records:
        for target in targets:
            for line in kernel_page(record, target):
                print_line(line)
