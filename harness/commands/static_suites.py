"""`static`: a run that only compiles, and its pages of results."""

from collections.abc import Sequence
from dataclasses import asdict, replace

from harness.commands import output
from harness.commands import run as stages
from harness.commands.measuring_options import PageFlags
from harness.commands.output import console, print_json, print_note, stored_of
from harness.commands.streams import print_line
from harness.core.record import Record
from harness.gate.report.table import gate_data, print_static_changes
from harness.gate.static.run import BaseFigures, changes_since, compile_base
from harness.report.run_json import run_data
from harness.report.tables.owners_table import comparison_lines, owners_lines, owners_table, since_lines
from harness.report.tables.render import print_tables
from harness.run.session import Done
from harness.sweep.overrides import Overrides
from harness.sweep.project import Project


def split_ids(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """(suites, ids of implementations as family/name) among the words."""
    ids = [word for word in words if "/" in word]
    return [word for word in words if word not in ids], ids


def compile_and_print(
    project: Project,
    words: Sequence[str],
    overrides: Overrides,
    targets: Sequence[str],
    pages: PageFlags,
    shown: output.Shown,
    *,
    wait: bool,
) -> int:
    """Compile suites, or implementations as family/name, and print the figures. Returns the exit code."""
    suites, ids = split_ids(words)
    elsewhere = pages.max_seq and "host" not in targets
    schedule = project.plan(suites, replace(overrides, elsewhere=elsewhere, compiled_only=True), ids)
    base = None
    if pages.against is not None:
        base = compile_base(project, schedule, targets, pages.against, output.print_note)
    done = stages.run_schedule(
        *(project, schedule),
        depth="static",
        targets=targets,
        max_seq=pages.max_seq,
        owners=pages.owners or base is not None,
        wait=wait,
    )
    changed = 0
    if pages.owners or base is not None:
        changed = print_plans(done, targets, base, owners=pages.owners, json=shown.json)
    elif pages.kernels and not shown.json:
        output.print_kernels(done.records, targets)
    else:
        output.print_run(done, shown)
    return stages.end_run(done, strict=shown.strict) or changed


def print_plans(
    done: Done, targets: Sequence[str], base: BaseFigures | None, *, owners: bool, json: bool
) -> int:
    """Print the changes since a base, then the buffer breakdown, or both as JSON. Returns the exit code."""
    stored = stored_of(done)
    records = stored.records
    for problem in stored.problems:
        print_note(problem)
    outcomes = [] if base is None else [changes_since(base, records, target) for target in targets]
    if json:
        data = run_data(stored.info, records)
        if base is not None:
            figures = [
                {"case": case, "target": target, **asdict(static)}
                for (case, target), static in base.figures.items()
            ]
            changes = [gate_data(outcome) for outcome in outcomes]
            data["base"] = {"name": base.name, "figures": figures, "changes": changes}
        print_json(data)
    else:
        for outcome in outcomes:
            print_static_changes(console(), outcome)
        if base is not None and owners:
            print_since(records, targets, base)
        if owners:
            print_owners(records, targets)
    return max((outcome.exit_code for outcome in outcomes), default=0)


def print_since(records: Sequence[Record], targets: Sequence[str], base: BaseFigures) -> None:
    """Print how much each planned peak grew since a base, and which buffers grew."""
    for record in records:
        for target in targets:
            before = base.figures.get((record.case, target))
            for line in since_lines(record, target, before, base.name) if before else ():
                print_line(line)


def print_owners(records: Sequence[Record], targets: Sequence[str]) -> None:
    """Print the buffer breakdown of every planned peak: answers, then tables of the longest lengths."""
    for target in targets:
        for line in (line for record in records for line in owners_lines(record, target)):
            print_line(line)
        for line in comparison_lines(records, target):
            print_line(line)
    longest = {(r.implementation, str(r.options), r.mode): r for r in sorted(records, key=lambda r: r.seq)}
    found = (
        (record, target, figures.owners)
        for record in longest.values()
        for target in targets
        if (figures := record.static.get(target)) is not None
    )
    pages = [owners_table(record, target, owners) for record, target, owners in found if owners is not None]
    if pages:
        print_line("")
        print_tables(console(), *pages)
