"""The commands on implementations, published claims and this machine."""

from dataclasses import replace
from pathlib import Path

import typer

from harness.commands import options, output
from harness.commands.option_groups import argument, flag, option
from harness.commands.options import OUTPUT, PLACES, Text, Words
from harness.commands.sectioned_command import command

group = typer.Typer()
MODELS = "models"  # in place of a family's name


@command(group, "list")
def list_(
    family: Text = argument("A family, or models: presets of real ones; none: everything in short."),
    name: Text = argument("With models: one of them, and what each family derives from it."),
    *,
    place: options.CatalogFlags,
    contracts: bool = flag(OUTPUT, "A family's contracts, gradients, inputs and results; whole sentences."),
    json: bool = options.JSON,
) -> None:
    """List what can be run, or all about one family. Families, implementations, options, targets, models."""
    project = replace(place.project(), hashed=json)
    if family == MODELS:
        from harness.commands.list_catalog import list_models

        list_models(project.catalog, name, json=json)
    elif family is None:
        output.print_catalog(project.catalog, json=json)
    else:
        from harness.commands.list_catalog import describe_family

        semantics, reason = describe_family(project, family)
        output.print_family(project.catalog, family, semantics, reason, contracts=contracts, json=json)


@command(group, "new")
def new(
    family: Text = argument("The family to implement."),
    name: Text = argument("Name of the implementation, and of the file."),
    own: Text = option(PLACES, "Write a family of this name instead.", name="--family"),
    out: Path = option(PLACES, "Folder for the file.", Path()),
    framework: Text = option(PLACES, "Write it in this one: numpy, torch, jax, triton, or a registered one."),
    *,
    place: options.CatalogFlags,
    json: bool = options.JSON,
) -> None:
    """Write a file to start from. NAME.py, an implementation of FAMILY, or with --family one of your own."""
    from harness.commands.new import write_new

    output.print_new(*write_new(place.project(), family, name, own, out, framework), json=json)


@command(group, "claims")
def claims(
    names: Words = argument("Families, or claims as FAMILY/ID; none: all, and docs/CLAIMS.md is written."),
    *,
    place: options.PlaceFlags,
    check: bool = flag(OUTPUT, "Write nothing; exit 1 where docs/CLAIMS.md is stale."),
    json: bool = options.JSON,
) -> None:
    """Say which published numbers hold. All of them, those of a family, or one (FAMILY/ID)."""
    from harness.commands.claims import claims as judge_claims
    from harness.commands.claims import print_outcome

    outcome = judge_claims(place.project(), names or (), check=check, log=output.print_note)
    raise typer.Exit(print_outcome(outcome, json=json, check=check))


@command(group, "doctor")
def doctor(
    roofline: bool = flag("Noise", "Measure the most FLOP/s and bytes/s that torch reaches here."),
    on: Text = option(PLACES, "Examine these machines of bench.yaml, and say which are refused and why."),
    *,
    place: options.PlaceFlags,
    json: bool = options.JSON,
) -> None:
    """Examine this machine. What a benchmark finds here, what is missing, and how to install it."""
    if roofline:
        from harness.commands.measured_rooflines import measure_rooflines, roofline_data
        from harness.report.tables.bounds_table import print_roofline

        found = measure_rooflines(place.project(), output.print_note)
        if json:
            output.print_json({"rooflines": [roofline_data(*each) for each in found]})
        else:
            for each in found:
                print_roofline(output.console(), *each)
    elif on:
        from harness.commands.machines import examine_machines

        raise typer.Exit(examine_machines(place.project(), on, json=json))
    else:
        from harness.report.tables.listing import findings_table
        from harness.run.doctor import examine

        found = examine(place.project().results)
        data = {"findings": [vars(finding) for finding in found]}
        output.print_table(data, lambda: findings_table(found), json=json)
