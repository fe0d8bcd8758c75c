"""The commands that read stored runs: tables, charts, comparisons and exports."""

import typer

from harness.commands import options, output, stored_options
from harness.commands.known_rooflines import ROOF
from harness.commands.option_groups import command
from harness.commands.options import split_words
from harness.core.errors import UsageError

group = typer.Typer()


@command(group, "show")
def show(
    names: stored_options.StoredSuites = None,
    *,
    selection: stored_options.StoredFlags,
    run: stored_options.StoredRun = stored_options.LATEST,
    baseline: stored_options.StoredBaseline = None,
    record: stored_options.RecordHash = None,
    place: options.ResultsFlags,
    tables: options.TableFlags,
    json: options.Json = False,
) -> None:
    """Print the tables of a stored run or profile, or one record."""
    from harness.commands.profile import print_profile
    from harness.commands.stored import read_run

    if record is not None:
        from harness.commands.findings import find_record, print_record

        run_named = None if run == stored_options.LATEST else run
        print_record(find_record(place.project(), record, run_named), json=json)
        return
    project, columns = place.project(), tables.column_names()
    stored = read_run(project, run, selection.part(names), baseline, rooflines=ROOF in columns)
    if stored.info.get("depth") == "profile" and not columns:
        for problem in stored.problems:
            output.print_note(problem)
        print_profile(stored.records, project.results, json=json)
        return
    output.print_stored(stored, columns, json=json, notes=tables.notes)


@command(group, "runs")
def runs(
    keep: stored_options.Keep = None,
    dry_run: stored_options.KeepDryRun = False,
    *,
    place: options.ResultsFlags,
    json: options.Json = False,
) -> None:
    """List stored runs, newest first. With --keep N delete all but the newest N."""
    from harness.commands.stored import list_runs
    from harness.store.prune import prune

    results = place.project(writes=keep is not None).results
    if keep is not None:
        output.print_pruned(prune(results, keep, dry_run=dry_run), json=json, dry_run=dry_run)
    elif dry_run:
        raise UsageError("--dry-run: goes with --keep N; without it nothing is deleted anyway")
    else:
        output.print_runs(list_runs(results), json=json)


@command(group, "compare")
def compare(
    names: stored_options.ComparedRuns = None,
    impl: options.Impl = None,
    force: stored_options.Force = False,
    across: stored_options.Across = False,
    out: stored_options.SvgFile = None,
    *,
    run: stored_options.RunsAcross = None,
    place: options.ResultsFlags,
    notes: options.Notes = False,
    json: options.Json = False,
) -> None:
    """Compare two implementations, two runs, or machines. Two runs are a trend, and no verdict."""
    from harness.commands.compare import compare_machines, compare_sides

    results = place.project().results
    if across:
        if impl or force or out is not None:
            raise UsageError(
                "--across: goes without --impl, --force and --out; name suites, and runs by --run"
            )
        found = compare_machines(results, names or (), split_words(run), output.print_note)
        output.print_reproductions(found, json=json)
        return
    if run is not None:
        raise UsageError("--run: goes with --across; else name runs without it, as seqsweep compare RUN RUN")
    comparison = compare_sides(results, names or (), split_words(impl), force=force)
    output.print_comparison(comparison, out, json=json, notes=notes)


@command(group, "chart")
def chart(
    names: stored_options.StoredSuites = None,
    *,
    selection: stored_options.StoredFlags,
    run: stored_options.StoredRun = "latest",
    baseline: stored_options.StoredBaseline = None,
    out: stored_options.ChartFolder = None,
    place: options.ResultsFlags,
    png: stored_options.Png = False,
    json: options.Json = False,
) -> None:
    """Draw a stored run as SVG. Of every suite latency, speedup, memory, scaling, profiles and more."""
    from harness.commands.stored import draw_charts, read_run

    project = place.project()
    stored = read_run(project, run, selection.part(names), baseline, rooflines=True)
    output.print_paths(draw_charts(project, stored, out, png=png), json=json)


@command(group, "report")
def report(
    names: stored_options.StoredSuites = None,
    *,
    run: stored_options.StoredRuns = None,
    flags: stored_options.ReportFlags,
    place: options.ResultsFlags,
    json: options.Json = False,
) -> None:
    """Write the findings of stored runs as a document. Verdicts, every case, replay, method."""
    from harness.commands.findings import (
        compose_document,
        print_document,
        read_runs,
        write_into,
        write_page,
        write_receipt,
    )

    flags.refuse_alone()
    project = place.project()
    runs = read_runs(project, split_words(run), names or ())
    if flags.pr:
        output.write_data(write_receipt(project, runs, flags.chart).encode(), None)
        return
    document = compose_document(project, runs, charts=flags.into is not None or flags.html is not None)
    if flags.html is not None:
        write_page(document, runs, flags.html)
        output.print_written([f"wrote {flags.html}"], json=json)
        return
    if flags.into is None:
        print_document(document, json=json)
        return
    lines, code = write_into(document, flags.into, check=flags.check)
    output.print_written(lines, json=json)
    raise typer.Exit(code)


@command(group, "collect")
def collect(
    sources: stored_options.Sources,
    check: stored_options.CollectCheck = False,
    *,
    place: options.ResultsFlags,
    json: options.Json = False,
) -> None:
    """Join runs of other machines. Shards of one sweep become one run."""
    from harness.commands.collect import collect_runs
    from harness.store.remote import readable

    results = place.project(writes=True).results
    raise typer.Exit(collect_runs([readable(source) for source in sources], results, check=check, json=json))


@command(group, "verify")
def verify(
    receipt: stored_options.ReceiptFile,
    *,
    place: options.PlaceFlags,
    wait: options.Wait = False,
    json: options.Json = False,
) -> None:
    """Run a receipt again here. What holds, what differs, what cannot be checked."""
    from harness.commands.findings import print_checks, read_text
    from harness.findings.receipt_text import read_receipt
    from harness.findings.recheck import check_statements, run_again

    read, edited = read_receipt(read_text(receipt), str(receipt))
    checks = []
    if not edited:
        checks = check_statements(read, run_again(place.project(), read, output.progress_of, wait=wait))
    raise typer.Exit(print_checks(read, checks, edited, json=json))


@command(group, "export")
def export(
    run: stored_options.ExportedRun = "latest",
    *,
    flags: stored_options.ExportFlags,
    selection: stored_options.StoredFlags,
    baseline: stored_options.StoredBaseline = None,
    place: options.ResultsFlags,
) -> None:
    """Write a stored run for other programs. Rows, Markdown for a pull request, or a service's JSON."""
    from harness.commands.export import export_rows, export_summary

    table, part, project = flags.table(), selection.part(None), place.project()
    if table is None:
        data = export_summary(project, run, part, baseline, flags.to)
    else:
        data = export_rows(project, run, part, baseline, table, flags.to)
    output.write_data(data, flags.out)


@command(group, "history")
def history(
    case: stored_options.CasePattern,
    out: stored_options.SvgFile = None,
    *,
    place: options.ResultsFlags,
    json: options.Json = False,
) -> None:
    """Show a case over all runs of one machine. Its medians are a trend, not a verdict."""
    from harness.commands.history import read_histories

    histories = read_histories(place.project().results, case, output.print_note)
    output.print_histories(histories, out, json=json)
