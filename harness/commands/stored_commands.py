"""The commands that read stored runs: tables, charts, comparisons and exports."""

from pathlib import Path

import typer

from harness.commands import options, output
from harness.commands.measured_rooflines import ROOF
from harness.commands.option_groups import REQUIRED, argument, flag, option
from harness.commands.options import LIMITS, OUTPUT, PLACES, RUN, SELECTION, Text, Words, split_words
from harness.commands.sectioned_command import command

group = typer.Typer()


@command(group, "show")
def show(
    names: Words = options.KEPT_SUITES,
    *,
    selection: options.StoredFlags,
    run: str = options.STORED_RUN,
    baseline: Text = options.BASELINE,
    record: Text = option(SELECTION, "The record whose hash begins so, and no table."),
    place: options.ResultsFlags,
    tables: options.TableFlags,
    json: bool = options.JSON,
) -> None:
    """Print the tables of a stored run or profile, or one record."""
    from harness.commands.stored import read_run

    if record is not None:
        from harness.commands.findings import find_record, print_record

        run_named = None if run == options.LATEST else run
        print_record(find_record(place.project(), record, run_named), json=json)
        return
    project, columns = place.project(), tables.column_names()
    stored = read_run(project, run, selection.part(names), baseline, rooflines=ROOF in columns)
    if stored.info.get("depth") == "profile" and not (columns or tables.notes or baseline):
        output.print_problems(stored)
        output.print_profile(stored.records, project.results, json=json)
        return
    output.print_stored(stored, columns, json=json, notes=tables.notes)


@command(group, "runs")
def runs(
    cases: Words = argument("Cases by id or pattern, as 'mask/scatter@*'; none: list the runs."),
    keep: int | None = option(RUN, "Delete all runs but so many, the newest."),
    dry_run: bool = flag(RUN, "With --keep: name what would be deleted, and its size."),
    *,
    place: options.ResultsFlags,
    json: bool = options.JSON,
) -> None:
    """List stored runs, or show a case over all runs of this machine. --keep N deletes all but the newest."""
    from harness.commands.stored import list_runs, print_trends
    from harness.report.tables.listing import runs_table
    from harness.store.prune import prune

    results = place.project().results
    if cases:
        print_trends(results, cases, json=json)
    elif keep is not None:
        output.print_pruned(prune(results, keep, dry_run=dry_run), json=json, dry_run=dry_run)
    else:
        listed = list_runs(results)
        output.print_table({"runs": [vars(run) for run in listed]}, lambda: runs_table(listed), json=json)


@command(group, "compare")
def compare(
    names: Words = argument(
        "Two runs, the earlier first, or one with --impl; with --across: suites, or none."
    ),
    impl: options.Words = options.IMPL,
    force: bool = flag(SELECTION, "Also compare runs of different machines."),
    across: bool = flag(SELECTION, "The same comparisons on every machine, a column each."),
    out: Path | None = options.SVG_FILE,
    *,
    run: Words = option(PLACES, "With --across: these runs alone, not all stored ones."),
    place: options.ResultsFlags,
    notes: bool = options.NOTES,
    json: bool = options.JSON,
) -> None:
    """Compare two implementations, two runs, or machines. Two runs are a trend, and no verdict."""
    from harness.commands.compare import compare_machines, compare_sides

    results = place.project().results
    if across:
        found = compare_machines(results, names or (), split_words(run), output.print_note)
        output.print_machine_speedups(found, json=json)
        return
    comparison = compare_sides(results, names or (), split_words(impl), force=force)
    output.print_comparison(comparison, out, json=json, notes=notes)


@command(group, "dispatch")
def dispatch(
    suite: Text = argument("A suite of the run; none: its only one.", None),
    *,
    selection: options.StoredFlags,
    run: str = options.STORED_RUN,
    baseline: Text = options.BASELINE,
    inexact: bool = flag(SELECTION, "Call what is not mathematically equivalent to the baseline, too."),
    into: Path | None = option(OUTPUT, "Write this Python file, not standard output."),
    place: options.ResultsFlags,
    json: bool = options.JSON,
) -> None:
    """Write a function that calls the fastest. With its test; what is not decided stays as it was."""
    from harness.commands.choose import choices_of, print_dispatch
    from harness.commands.stored import read_run

    project = place.project()
    stored = read_run(project, run, selection.part([suite] if suite else None), baseline)
    print_dispatch(choices_of(project, stored, inexact=inexact), stored, into, json=json)


@command(group, "chart")
def chart(
    names: Words = options.KEPT_SUITES,
    *,
    selection: options.StoredFlags,
    run: str = options.STORED_RUN,
    baseline: Text = options.BASELINE,
    out: Path | None = option(PLACES, "Folder for the SVGs."),
    place: options.ResultsFlags,
    png: bool = flag(OUTPUT, "Each chart as PNG, too."),
    json: bool = options.JSON,
) -> None:
    """Draw a stored run as SVG. Of every suite latency, speedup, memory, scaling, profiles and more."""
    from harness.commands.stored import draw_charts, read_run

    project = place.project()
    stored = read_run(project, run, selection.part(names), baseline, rooflines=True)
    charts = draw_charts(project, stored, out, png=png)
    output.print_lines("charts", list(map(str, charts)), json=json)


@command(group, "report")
def report(
    names: Words = options.KEPT_SUITES,
    *,
    run: Words = option(PLACES, "Stored runs, one or several; none: the newest."),
    flags: options.ReportFlags,
    place: options.ResultsFlags,
    json: bool = options.JSON,
) -> None:
    """Write the findings of stored runs as a document. Verdicts, every case, replay, method."""
    from harness.commands import findings

    project = place.project()
    runs = findings.read_runs(project, split_words(run), names or ())
    if flags.pr:
        output.write_data(findings.write_receipt(runs, flags.chart).encode(), None)
        return
    document = findings.compose_document(
        project, runs, charts=flags.into is not None or flags.html is not None
    )
    if flags.html is not None:
        findings.write_page(document, runs, flags.html)
        output.print_lines("files", [f"wrote {flags.html}"], json=json)
        return
    if flags.into is None:
        findings.print_document(document, json=json)
        return
    lines, code = findings.write_into(document, flags.into, check=flags.check)
    output.print_lines("files", lines, json=json)
    raise typer.Exit(code)


@command(group, "collect")
def collect(
    sources: list[str] = argument("Folders of other machines' results, or of single runs.", REQUIRED),
    *,
    place: options.ResultsFlags,
    json: bool = options.JSON,
) -> None:
    """Join runs of other machines. Shards of one sweep become one run."""
    from harness.commands.machines import collect_runs
    from harness.store.find import local_folder

    results = place.project().results
    raise typer.Exit(collect_runs([local_folder(source) for source in sources], results, json=json))


@command(group, "verify")
def verify(
    receipt: Path = argument("A file with a receipt, as report --pr writes it.", REQUIRED),
    *,
    place: options.PlaceFlags,
    limit: str = option(LIMITS, "Wall time at most, whatever the receipt asks for: 10m.", "10m"),
    wait: bool = options.WAIT,
    json: bool = options.JSON,
) -> None:
    """Run a receipt again here. What holds, what differs, what cannot be checked."""
    from harness.commands.findings import print_receipt_check, read_text
    from harness.findings.receipt_text import read_receipt
    from harness.findings.recheck import check_statements, run_again
    from harness.gate.options import parse_budget

    limit_s = parse_budget(limit, "--limit")
    read = read_receipt(read_text(receipt), str(receipt))
    here = run_again(place.project(), read, output.progress_of, output.print_note, limit_s=limit_s, wait=wait)
    raise typer.Exit(print_receipt_check(read, check_statements(read, here), json=json))


@command(group, "export")
def export(
    run: str = argument("A stored run: id, unique beginning, path or latest.", "latest"),
    *,
    flags: options.ExportFlags,
    selection: options.StoredFlags,
    baseline: Text = options.BASELINE,
    place: options.ResultsFlags,
) -> None:
    """Write the rows of a stored run for other programs."""
    from harness.commands.export import export_rows

    table, part = flags.table(), selection.part(None)
    output.write_data(export_rows(place.project(), run, part, baseline, table, flags.to), flags.out)
