"""Output of commands: one JSON object, or rich text as wide as the terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.commands.streams import print_line
from harness.core.errors import UsageError
from harness.core.shown_text import escape_json
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

PLAIN_COLUMNS = 140  # the width for a pipe or a file, which has none


def console() -> Console:
    from harness.report.console import TextConsole

    plain = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return TextConsole(width=PLAIN_COLUMNS if plain else None)


def print_json(data: Mapping[str, Any]) -> None:
    import msgspec

    from harness.core.plain_data import plain_number

    try:
        text = msgspec.json.encode(data, enc_hook=plain_number).decode()
    except UnicodeEncodeError:  # a file name that is not UTF-8: json escapes its bytes
        text = dumps(msgspec.to_builtins(data, enc_hook=plain_number))
    sys.stdout.buffer.write(escape_json(text).encode() + b"\n")


def print_table(data: Mapping[str, Any], table: Callable[[], RenderableType], *, json: bool) -> None:
    """Print data as JSON, or its table, which is built only if it is printed."""
    if json:
        print_json(data)
    else:
        console().print(table())


def print_note(text: str) -> None:
    """Print a line on standard error."""
    print_line(text, err=True)


def print_problems(stored: Stored) -> None:
    """Print notes on a run's figures, and what could not be read, on standard error."""
    for problem in (*quick_notes(stored.info), *stored.problems):
        print_note(problem)


@dataclass(frozen=True)
class Shown:
    """How a command shows its run. With `strict`, failures of single cases exit with 3."""

    columns: Sequence[str]
    notes: bool
    strict: bool
    json: bool


def print_run(done: Done, shown: Shown) -> None:
    """Print the tables of a run that just ended."""
    print_stored(stored_of(done), shown.columns, json=shown.json, notes=shown.notes)


def stored_of(done: Done) -> Stored:
    """A run that just ended as a stored one, with the measured rooflines."""
    from harness.analysis.roofline import known_rooflines

    folder, stored = done.folder, done.stored
    rooflines = {"rooflines": known_rooflines(folder.results)}
    return replace(stored, info={**stored.info, "fingerprints": folder.fingerprints(), **rooflines})


def print_stored(stored: Stored, columns: Sequence[str] = (), *, json: bool, notes: bool = False) -> None:
    """Print the tables of a stored run, with the requested columns."""
    info, records, problems = stored.info, stored.records, stored.problems
    if json:
        print_json(data_of(stored))
    else:
        from harness.report import run_report

        run_report.print_run(console(), info, records, problems, columns, notes=notes)


def data_of(stored: Stored) -> dict[str, Any]:
    """The object that `run --json` prints. Problems of the run go to standard error."""
    from harness.report.run_json import run_data

    print_problems(stored)
    return run_data(stored.info, stored.records)


def print_new(file: Path, commands: Sequence[str], *, json: bool) -> None:
    """Print the file that was written, and the next commands."""
    if json:
        print_json({"file": str(file), "next": commands})
    else:
        print_line("\n".join([f"wrote {file}", *(f"next: {command}" for command in commands)]))


def print_plan(schedule: Schedule, *, json: bool) -> None:
    """Print a schedule's suites with the numbers of their cases, without compiling or running them."""
    from harness.run.dry_run import count_cases

    suites, total, budget_s = count_cases(schedule)
    if json:
        print_json({"suites": [vars(suite) for suite in suites]})
    else:
        from harness.report.tables.listing import dry_run_table

        console().print(dry_run_table(suites, total, budget_s))
        print_line("seqsweep static compiles every case and shows its planned memory.")


def progress_of(schedule: Schedule) -> Progress:
    """A progress display for the schedule's groups, on standard error."""
    from harness.report.console import TextConsole
    from harness.report.progress import Progress

    return Progress(len(schedule.groups) * schedule.replicates, TextConsole(stderr=True))


def print_catalog(catalog: Catalog, *, json: bool) -> None:
    """Print all families, implementations and targets."""
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
    """Describe one family. `reason`: why its semantics are missing. JSON always has the contracts."""
    family, members = catalog.family(name), catalog.of_family(name)
    if json:
        listed = {"implementations": [asdict(info) for info in members], "reason": reason}
        print_json({**asdict(family), "semantics": semantics, **listed})
    else:
        from harness.report.tables.listing import family_page

        console().print(family_page(family, members, semantics, reason, contracts=contracts))


def print_profile(stored: Stored, *, json: bool) -> None:
    """Print every profiled case, with its share of the measured rooflines.

    Cases without a profile get a line on standard error.
    """
    from harness.profile.report import print_profiles, profile_data, roof_data
    from harness.profile.stage_times import profiled_series

    records, rooflines = stored.records, stored.info["rooflines"]
    series = profiled_series(records)
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
    """Print a comparison, case by case, and draw it into `out`."""
    if out is not None:
        from harness.report.charts.comparison import draw_comparison

        write_data(draw_comparison(sides), out)
    if json:
        print_json(sides.to_json())
    else:
        from harness.report.run_report import print_sides

        print_sides(console(), sides, notes=notes)


def print_machine_speedups(found: Sequence[MachineSpeedups], *, json: bool) -> None:
    """Print every comparison by machine. JSON also has the facts of each machine."""
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
    """Print, one by one, which runs are deleted, or would be, and which are not."""
    if json:
        print_json({"dry_run": dry_run, "runs": [vars(run) for run in pruned]})
        return
    verb = "would delete" if dry_run else "deleted"
    for run in pruned:
        deleted = f"{verb} {run.path} ({format_bytes(run.bytes)})"
        print_line(f"left {run.path}: {run.left}" if run.left else deleted)


def print_lines(what: str, lines: Sequence[str], *, json: bool) -> None:
    """Print lines, or as JSON a list under the key `what`."""
    if json:
        print_json({what: lines})
    else:
        for line in lines:
            print_line(line)


def write_data(data: bytes, out: Path | None, flag: str = "--out") -> None:
    """Write the file that a flag names, atomically, or standard output. MachineError if that fails."""
    if out is None:
        sys.stdout.buffer.write(data)
    elif out.exists() and not out.is_file():
        raise UsageError(f"{flag} {out}: is not a regular file; name another")
    else:
        from harness.store.atomic import write_files

        file = out.resolve()  # a link still points to the written file
        write_files(file.parent, {file.name: data})


def print_kernels(records: Sequence[Record], targets: Sequence[str]) -> None:
    """Describe the kernels of every case on every target, or say why there is none."""
    from harness.report.tables.kernels import kernel_page

    for record in records:
        for target in targets:
            for line in kernel_page(record, target):
                print_line(line)
