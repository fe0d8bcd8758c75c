"""Commands that measure: sweeps, checks, compiled figures, profiles, sensitivity and the gate."""

from contextlib import suppress
from dataclasses import replace

import typer

from harness.commands import measuring_options, options, output
from harness.commands import run as stages
from harness.commands.measuring_options import TARGETS
from harness.commands.option_groups import REQUIRED, argument, option
from harness.commands.options import PLACES, Text, Words, combine, split_words
from harness.commands.output import Shown
from harness.commands.sectioned_command import command
from harness.core.errors import UsageError

group = typer.Typer()


@command(group, "run")
def run(
    suites: Words = measuring_options.SUITES,
    *,
    selection: options.SelectionFlags,
    limits: options.LimitFlags,
    sampling: measuring_options.RunFlags,
    shard: measuring_options.ShardFlags,
    place: options.PlaceFlags,
    tables: options.TableFlags,
    wait: bool = options.WAIT,
    strict: bool = measuring_options.STRICT,
    json: bool = options.JSON,
) -> None:
    """Check, compile and time every case of the suites, then print answers and tables."""
    project, shown = place.project(), Shown(tables.column_names(), tables.notes, strict, json)
    overrides = combine(selection, limits, sampling, shard)
    if shard.on and sampling.dry_run:
        from harness.commands.machines import pool_of

        pool_of(project, shard.on)
    elif shard.on:
        from harness.commands.machines import run_on

        raise typer.Exit(run_on(project, shard.on, suites or (), overrides, shown))
    schedule = project.plan(suites or (), overrides)
    extras = sampling.extras(schedule.cases)
    if sampling.dry_run:
        stages.report_left_out(schedule)
        output.print_plan(schedule, json=json)
        return
    done = stages.run_schedule(project, schedule, resume=sampling.resume, wait=wait, extras=extras)
    output.print_run(done, shown)
    raise typer.Exit(stages.end_run(done, strict=strict))


@command(group, "check")
def check(
    ids: Words = argument("Families, suites, implementations or checks (default: all)."),
    *,
    selection: options.SelectionFlags,
    limits: options.LimitFlags,
    shard: measuring_options.ShardFlags,
    place: options.PlaceFlags,
    wait: bool = options.WAIT,
    strict: bool = measuring_options.STRICT,
    json: bool = options.JSON,
) -> None:
    """Check every case against its reference, and run the families' checks; time nothing."""
    project, names, shown = place.project(), split_words(ids), Shown((), True, strict, json)
    overrides, checks = combine(selection, limits, shard), project.checks_in(names)
    if shard.on:
        from harness.commands.machines import run_on

        suites, overrides = project.suites_among(names), project.narrow(overrides, names)
        code = run_on(project, shard.on, suites, overrides, shown, depth="check", checks=checks)
        raise typer.Exit(code)
    schedule = project.plan((), overrides, names)
    done = stages.run_schedule(project, schedule, depth="check", checks=checks, wait=wait)
    output.print_run(done, shown)
    raise typer.Exit(stages.end_run(done, strict=strict))


@command(group, "static")
def static(
    suites: Words = argument("Suites, family/name, or FILE.py::KERNEL (default: the default suites)."),
    target: Words = option(TARGETS, "Targets: for example host,cuda:h200,tpu:v5p (default: host)."),
    *,
    pages: measuring_options.PageFlags,
    launch: measuring_options.LaunchFlags,
    selection: options.HostSelectionFlags,
    limits: options.CompileLimitFlags,
    shard: measuring_options.ShardFlags,
    place: options.PlaceFlags,
    tables: options.TableFlags,
    wait: bool = options.WAIT,
    strict: bool = measuring_options.STRICT,
    json: bool = options.JSON,
) -> None:
    """Compile without running: planned memory, FLOPs and bytes for each target."""
    overrides, words, targets = combine(selection, limits, shard), suites or (), split_words(target)
    if kernel := launch.kernel_in(words):
        from harness.commands.static_kernel import print_kernel

        print_kernel(
            *(kernel, targets, launch.args or "", launch.grid, overrides), full=pages.kernels, json=json
        )
        return
    from harness.commands.static_suites import compile_and_print, split_ids

    project, targets = place.project(), stages.known_targets(targets)
    shown = Shown(tables.column_names(), tables.notes, strict, json)
    if shard.on:
        from harness.commands.machines import run_on

        named, ids = split_ids(words)
        overrides = project.narrow(overrides, ids)
        code = run_on(project, shard.on, named, overrides, shown, depth="static", targets=targets)
    else:
        code = compile_and_print(project, words, overrides, targets, pages, shown, wait=wait)
    raise typer.Exit(code)


@command(group, "profile")
def profile(
    ids: list[str] = argument("Implementations, families or suites to profile.", REQUIRED),
    *,
    selection: options.SelectionFlags,
    limits: options.LimitFlags,
    extent: measuring_options.ProfileFlags,
    place: options.PlaceFlags,
    wait: bool = options.WAIT,
    json: bool = options.JSON,
) -> None:
    """Show where the time of a call goes: the share of each stage, and how it grows."""
    project, overrides = place.project(), combine(selection, limits, extent)
    if not overrides.modes:
        overrides = replace(overrides, modes=("fwd",))
    schedule = project.plan((), overrides, split_words(ids))
    extras = extent.extras(schedule.cases)
    done = stages.run_schedule(
        project, schedule, depth="profile", resume=extent.resume, wait=wait, extras=extras
    )
    output.print_profile(output.stored_of(done), json=json)
    raise typer.Exit(stages.end_run(done, strict=False))


@command(group, "sensitivity")
def sensitivity(
    suites: list[str] = argument("Suites to measure on every input distribution of their family.", REQUIRED),
    *,
    selection: options.SelectionFlags,
    limits: options.LimitFlags,
    sampling: measuring_options.SamplingFlags,
    run: Text = option(PLACES, "Read this stored run (id, path or latest) instead of measuring."),
    place: options.PlaceFlags,
    wait: bool = options.WAIT,
    strict: bool = measuring_options.STRICT,
    json: bool = options.JSON,
) -> None:
    """Measure how time, error and recall depend on the distribution of the inputs."""
    from harness.commands.sensitivity import plan_distributions, print_sensitivity

    project = place.project()
    if run is not None:
        from harness.analysis.filter import Selection
        from harness.commands.stored import read_run

        points = selection.family, selection.impl, selection.seq, selection.mode, selection.device
        part = Selection(tuple(suites), *map(split_words, points))
        stored = read_run(project, run, part, sampling.baseline)
        print_sensitivity(project, stored, json=json)
        return
    schedule = plan_distributions(project, suites, combine(selection, limits, sampling))
    done = stages.run_schedule(project, schedule, resume=sampling.resume, wait=wait)
    no_pair_yet = (UsageError,) if done.interrupted else ()
    with suppress(*no_pair_yet):
        print_sensitivity(project, output.stored_of(done), json=json)
    raise typer.Exit(stages.end_run(done, strict=strict))


@command(group, "gate")
def gate(
    suites: Words = measuring_options.SUITES,
    *,
    flags: measuring_options.GateFlags,
    selection: options.SelectionFlags,
    limits: options.LimitFlags,
    place: options.PlaceFlags,
    json: bool = options.JSON,
) -> None:
    """Compare the working tree with a base: regressed, unchanged, or not enough evidence."""
    from harness.commands.gate import run_gate

    gate_options = flags.options(suites, combine(selection, limits))
    raise typer.Exit(run_gate(place.project(), gate_options, json=json))
