"""Commands that read stored runs: tables, charts, comparisons, documents and exports."""

from pathlib import Path

import typer

from harness.commands import options, output
from harness.commands.option_groups import REQUIRED, argument, flag, option
from harness.commands.options import LIMITS, OUTPUT, PLACES, RUN, SELECTION, Text, Words, split_words
from harness.commands.sectioned_command import command

group = typer.Typer()


@command(group, "show")
def show(
    names: Words = options.STORED_SUITES,
    *,
    selection: options.StoredFlags,
    run: str = options.STORED_RUN,
    baseline: Text = options.BASELINE,
    record: Text = option(SELECTION, "Print only the record whose hash starts with this prefix."),
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
    columns = tables.column_names()
    stored = read_run(place.project(), run, selection.part(names), baseline)
    if stored.info.get("depth") == "profile" and not (columns or tables.notes or baseline):
        output.print_problems(stored)
        output.print_profile(stored, json=json)
        return
    output.print_stored(stored, columns, json=json, notes=tables.notes)


@command(group, "runs")
def runs(
    cases: Words = argument("Ids or patterns of cases: 'mask/scatter@*' (default: list the runs)."),
    keep: int | None = option(RUN, "Keep the N newest runs and delete the others."),
    dry_run: bool = flag(RUN, "With --keep: list what would be deleted, with sizes, and delete nothing."),
    *,
    place: options.ResultsFlags,
    json: bool = options.JSON,
) -> None:
    """List stored runs, delete old ones, or show one case over all runs of this machine."""
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
    names: Words = argument("Two runs, or one with --impl. With --across: suites (default: all)."),
    impl: Words = option(SELECTION, "With one run: the two implementations to compare: scatter,broadcast."),
    force: bool = flag(SELECTION, "Compare even if the runs are from different machines."),
    across: bool = flag(SELECTION, "Show each comparison on every machine, one column per machine."),
    out: Path | None = options.SVG_FILE,
    *,
    run: Words = option(PLACES, "With --across: runs to compare (default: all stored runs)."),
    place: options.ResultsFlags,
    notes: bool = options.NOTES,
    json: bool = options.JSON,
) -> None:
    """Compare two implementations of a run, two runs (a trend, not a verdict), or machines."""
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
    suite: Text = argument("Suite of the run (default: its only suite).", None),
    *,
    selection: options.StoredFlags,
    run: str = options.STORED_RUN,
    baseline: Text = options.BASELINE,
    inexact: bool = flag(SELECTION, "Also choose implementations that are not mathematically equivalent."),
    into: Path | None = option(OUTPUT, "Output file (default: standard output)."),
    place: options.ResultsFlags,
    json: bool = options.JSON,
) -> None:
    """Write a Python function, with a test, that chooses the fastest implementation by length."""
    from harness.commands.choose import choices_of, print_dispatch
    from harness.commands.stored import read_run

    project = place.project()
    stored = read_run(project, run, selection.part([suite] if suite else None), baseline)
    print_dispatch(choices_of(project, stored, inexact=inexact), stored, into, json=json)


@command(group, "chart")
def chart(
    names: Words = options.STORED_SUITES,
    *,
    selection: options.StoredFlags,
    run: str = options.STORED_RUN,
    baseline: Text = options.BASELINE,
    out: Path | None = option(PLACES, "Folder for the SVG files (default: charts, next to bench.yaml)."),
    place: options.ResultsFlags,
    png: bool = flag(OUTPUT, "Also write each chart as PNG."),
    json: bool = options.JSON,
) -> None:
    """Draw SVG charts of a stored run: latency, speedup, memory, scaling, profiles."""
    from harness.commands.stored import draw_charts, read_run

    project = place.project()
    stored = read_run(project, run, selection.part(names), baseline)
    charts = draw_charts(project, stored, out, png=png)
    output.print_lines("charts", list(map(str, charts)), json=json)


@command(group, "report")
def report(
    names: Words = options.STORED_SUITES,
    *,
    run: Words = option(PLACES, "Stored runs, one or several (default: the latest)."),
    flags: options.ReportFlags,
    place: options.ResultsFlags,
    json: bool = options.JSON,
) -> None:
    """Write stored runs as a document: findings, every case, how to replay, method."""
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
    sources: list[str] = argument("Folders with results of other machines, or with single runs.", REQUIRED),
    *,
    place: options.ResultsFlags,
    json: bool = options.JSON,
) -> None:
    """Copy runs of other machines into the results here, and join the shards of a sweep."""
    from harness.commands.machines import collect_runs
    from harness.store.find import local_folder

    results = place.project().results
    raise typer.Exit(collect_runs([local_folder(source) for source in sources], results, json=json))


@command(group, "verify")
def verify(
    receipt: Path = argument("File with a receipt, written by seqsweep report --pr.", REQUIRED),
    *,
    place: options.PlaceFlags,
    limit: str = option(LIMITS, "Maximum wall time, whatever the receipt requests.", "10m"),
    wait: bool = options.WAIT,
    json: bool = options.JSON,
) -> None:
    """Run a receipt again here: what holds, what differs, what cannot be checked."""
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
    run: str = argument("Stored run: id, prefix of an id, path or latest.", "latest"),
    *,
    flags: options.ExportFlags,
    selection: options.StoredFlags,
    baseline: Text = options.BASELINE,
    place: options.ResultsFlags,
) -> None:
    """Export a stored run as CSV or Parquet."""
    from harness.commands.export import export_rows

    table, part = flags.table(), selection.part(None)
    output.write_data(export_rows(place.project(), run, part, baseline, table, flags.to), flags.out)
