"""The command line: each command names the options that it takes, and lists its stages."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from harness.commands import options, output, stored_options
from harness.commands import run as stages
from harness.commands.exit_codes import call_app
from harness.commands.help import SectionedCommand
from harness.commands.option_groups import splice_groups
from harness.commands.options import combine, split_words
from harness.core.errors import UsageError
from harness.core.version import VERSION

app = typer.Typer(
    name="seqsweep",
    help="Benchmark long-context kernels over sequence lengths: correct first, then measured, then compared.",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def command(name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a command, with the fields of its groups of options as flags."""
    return lambda function: app.command(name, cls=SectionedCommand)(splice_groups(function))


def print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"seqsweep {VERSION}")
        raise typer.Exit


@app.callback()
def seqsweep(
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Without a command there is nothing to do."""


@command("run")
def run(
    suites: options.Suites = None,
    *,
    selection: options.SelectionFlags,
    limits: options.LimitFlags,
    sampling: options.RunFlags,
    place: options.PlaceFlags,
    tables: options.TableFlags,
    wait: options.Wait = False,
    strict: options.Strict = False,
    json: options.Json = False,
) -> None:
    """Contract, static figures and time of every case; tables at the end."""
    project, columns = place.project(), tables.column_names()
    schedule = project.plan(suites or (), combine(selection, limits, sampling))
    if sampling.dry_run:
        output.print_plan(stages.rehearse_schedule(project, schedule, figures=sampling.figures), json=json)
        return
    done = stages.run_schedule(project, schedule, VERSION, resume=sampling.resume, wait=wait)
    output.print_run(done, columns, json=json, notes=tables.notes)
    raise typer.Exit(stages.end_run(done, strict=strict))


@command("check")
def check(
    ids: options.Ids = None,
    *,
    selection: options.SelectionFlags,
    limits: options.LimitFlags,
    place: options.PlaceFlags,
    wait: options.Wait = False,
    strict: options.Strict = False,
    json: options.Json = False,
) -> None:
    """Contracts and checks: every case is held to its reference, and to its family's checks; no clock."""
    project, names = place.project(), split_words(ids)
    schedule = project.plan((), combine(selection, limits), names)
    done = stages.run_schedule(
        project, schedule, VERSION, depth="check", checks=project.checks_in(names), wait=wait
    )
    output.print_run(done, json=json, notes=True)
    raise typer.Exit(stages.end_run(done, strict=strict))


@command("new")
def new(
    family: options.NewFamily = None,
    name: options.NewName = None,
    own: options.OwnFamily = None,
    out: options.SourceFolder = Path(),
    *,
    place: options.CatalogFlags,
    json: options.Json = False,
) -> None:
    """A file to start from: NAME.py, an implementation of FAMILY, or with --family one of your own."""
    from harness.commands.new import write_new

    output.print_new(*write_new(place.project(), family, name, own, out), json=json)


@command("static")
def static(
    suites: options.Suites = None,
    target: options.Target = None,
    max_seq: options.MaxSeq = False,
    *,
    selection: options.HostSelectionFlags,
    limits: options.CompileLimitFlags,
    place: options.PlaceFlags,
    wait: options.Wait = False,
    strict: options.Strict = False,
    json: options.Json = False,
) -> None:
    """Compile only, run nothing: memory, FLOPs and bytes per target."""
    targets = stages.known_targets(split_words(target))
    project = place.project()
    schedule = project.plan(suites or (), combine(selection, limits))
    done = stages.compile_schedule(project, schedule, VERSION, targets, max_seq=max_seq, wait=wait)
    output.print_run(done, json=json)
    raise typer.Exit(stages.end_compilation(done, strict=strict))


@command("claims")
def claims(
    names: options.ClaimNames = None,
    *,
    place: options.PlaceFlags,
    check: options.Check = False,
    json: options.Json = False,
) -> None:
    """What became of published numbers: all of them, those of a family, or one (FAMILY/ID)."""
    from harness.commands.claims import claims as judge_claims
    from harness.commands.claims import print_outcome

    outcome = judge_claims(place.project(), names or (), check=check, say=output.print_note)
    raise typer.Exit(print_outcome(outcome, json=json, check=check))


@command("list")
def list_(
    family: options.FamilyName = None, *, place: options.CatalogFlags, json: options.Json = False
) -> None:
    """Families and implementations, with their options, and targets; or all about one family."""
    project = place.project()
    if family is None:
        output.print_catalog(project.catalog, json=json)
    else:
        from harness.commands.list_family import probe_family

        output.print_family(project.catalog, family, *probe_family(project, family), json=json)


@command("doctor")
def doctor(
    noise: options.Noise = False,
    self_check: options.SelfCheck = False,
    *,
    place: options.PlaceFlags,
    json: options.Json = False,
) -> None:
    """This machine: what a benchmark finds here, what is missing, and how to install it."""
    if noise:
        from harness.commands.gate import measure_noise

        measure_noise(place.project(), json=json)
    elif self_check:
        from harness.commands.self_check import check_self

        check_self(place.project(), VERSION, json=json)
    else:
        from harness.run.doctor import examine

        output.print_findings(examine(place.project().results), json=json)


@command("profile")
def profile(
    ids: options.ProfiledIds,
    *,
    selection: options.SelectionFlags,
    limits: options.LimitFlags,
    place: options.PlaceFlags,
    wait: options.Wait = False,
    json: options.Json = False,
) -> None:
    """Where the time of a call goes: its stages within the whole, with their shares and how they grow."""
    from harness.commands.profile import print_profile

    project, overrides = place.project(), combine(selection, limits)
    if not overrides.modes:
        overrides = replace(overrides, modes=("fwd",))
    schedule = project.plan((), overrides, split_words(ids))
    done = stages.run_schedule(project, schedule, VERSION, depth="profile", wait=wait)
    print_profile(done, json=json)
    raise typer.Exit(stages.end_run(done, strict=False))


@command("show")
def show(
    names: options.StoredSuites = None,
    *,
    selection: options.StoredFlags,
    run: options.StoredRun = "latest",
    baseline: options.StoredBaseline = None,
    place: options.ResultsFlags,
    tables: options.TableFlags,
    json: options.Json = False,
) -> None:
    """The tables of a stored run again."""
    from harness.commands.stored import read_run

    columns = tables.column_names()
    stored = read_run(place.project(), run, selection.part(names), baseline)
    output.print_stored(stored, columns, json=json, notes=tables.notes)


@command("runs")
def runs(
    keep: options.Keep = None,
    dry_run: options.KeepDryRun = False,
    *,
    place: options.ResultsFlags,
    json: options.Json = False,
) -> None:
    """The stored runs, newest first; with --keep N delete all but the newest N."""
    from harness.commands.stored import list_runs
    from harness.store.prune import prune

    results = place.project().results
    if keep is not None:
        output.print_pruned(prune(results, keep, dry_run=dry_run), json=json, dry_run=dry_run)
    elif dry_run:
        raise UsageError("--dry-run: goes with --keep N; without it nothing is deleted anyway")
    else:
        output.print_runs(list_runs(results), json=json)


@command("compare")
def compare(
    run: options.FirstRun,
    other: options.SecondRun = None,
    impl: options.Impl = None,
    force: options.Force = False,
    *,
    place: options.ResultsFlags,
    notes: options.Notes = False,
    json: options.Json = False,
) -> None:
    """Two implementations of one run (--impl a,b), or two runs: the latter is a trend, not a verdict."""
    from harness.commands.compare import compare_sides

    results = place.project().results
    comparison = compare_sides(results, run, other, split_words(impl), force=force)
    output.print_comparison(comparison, json=json, notes=notes)


@command("gate")
def gate(
    suites: options.Suites = None,
    *,
    flags: options.GateFlags,
    selection: options.SelectionFlags,
    limits: options.LimitFlags,
    place: options.PlaceFlags,
    json: options.Json = False,
) -> None:
    """The working tree against a base: regressed, unchanged, or not enough evidence."""
    from harness.commands.gate import run_gate

    gate_options = flags.options(suites, combine(selection, limits))
    raise typer.Exit(run_gate(place.project(), gate_options, json=json))


@command("chart")
def chart(
    names: options.StoredSuites = None,
    *,
    selection: options.StoredFlags,
    run: options.StoredRun = "latest",
    baseline: options.StoredBaseline = None,
    out: options.ChartFolder = None,
    place: options.ResultsFlags,
    json: options.Json = False,
) -> None:
    """Draw latency, speedup and memory of every suite of a stored run as SVG."""
    from harness.commands.stored import draw_charts, read_run

    project = place.project()
    stored = read_run(project, run, selection.part(names), baseline)
    output.print_paths(draw_charts(project, stored, out), json=json)


@command("export")
def export(
    run: stored_options.ExportedRun = "latest",
    *,
    flags: stored_options.ExportFlags,
    selection: options.StoredFlags,
    baseline: options.StoredBaseline = None,
    place: options.ResultsFlags,
) -> None:
    """A stored run for other programs: rows, Markdown for a pull request, or a service's JSON."""
    from harness.commands.export import export_rows, export_summary

    table, part, project = flags.table(), selection.part(None), place.project()
    if table is None:
        data = export_summary(project, run, part, baseline, flags.to)
    else:
        data = export_rows(project, run, part, baseline, table, flags.to)
    output.write_data(data, flags.out)


@command("history")
def history(
    case: stored_options.CasePattern,
    out: stored_options.SvgFile = None,
    *,
    place: options.ResultsFlags,
    json: options.Json = False,
) -> None:
    """The medians of a case over all stored runs on one machine: a trend, not a verdict."""
    from harness.commands.history import read_histories

    histories = read_histories(place.project().results, case, output.print_note)
    output.print_histories(histories, out, json=json)


def main() -> NoReturn:
    sys.exit(call_app(app, sys.argv[1:] or ["--help"]))


if __name__ == "__main__":
    main()
