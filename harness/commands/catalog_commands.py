"""Commands on the catalog, templates, published claims and this machine."""

from dataclasses import replace
from pathlib import Path

import typer

from harness.commands import options, output
from harness.commands.option_groups import argument, flag, option
from harness.commands.options import OUTPUT, PLACES, Text, Words
from harness.commands.sectioned_command import command

group = typer.Typer()
MODELS = "models"  # instead of a family's name


@command(group, "list")
def list_(
    family: Text = argument('Family to describe, or "models" for model presets (default: list all).'),
    name: Text = argument('With "models": the model to describe, with its shapes in each family.'),
    *,
    place: options.CatalogFlags,
    contracts: bool = flag(OUTPUT, "Also describe the family's contracts, gradients, inputs and results."),
    json: bool = options.JSON,
) -> None:
    """List families, implementations, targets and models, or describe one family."""
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
    family: Text = argument("Family to implement."),
    name: Text = argument("Name of the implementation and of the file."),
    own: Text = option(PLACES, "Write a new family with this name.", name="--family"),
    out: Path = option(PLACES, "Folder for the file.", Path()),
    framework: Text = option(PLACES, "Framework, such as jax or triton (default: the template's)."),
    *,
    place: options.CatalogFlags,
    json: bool = options.JSON,
) -> None:
    """Write a template: an implementation of a family, or a new family."""
    from harness.commands.new import write_new

    output.print_new(*write_new(place.project(), family, name, own, out, framework), json=json)


@command(group, "claims")
def claims(
    names: Words = argument("Families, or claims as FAMILY/ID (default: all, and update docs/CLAIMS.md)."),
    *,
    place: options.PlaceFlags,
    check: bool = flag(OUTPUT, "Write nothing, and exit with 1 if docs/CLAIMS.md is stale."),
    json: bool = options.JSON,
) -> None:
    """Check published claims: which numbers hold, and which do not."""
    from harness.commands.claims import claims as judge_claims
    from harness.commands.claims import print_outcome

    outcome = judge_claims(place.project(), names or (), check=check, log=output.print_note)
    raise typer.Exit(print_outcome(outcome, json=json, check=check))


@command(group, "doctor")
def doctor(
    roofline: bool = flag("Measurement", "Measure peak FLOP/s and bytes/s with torch (a minute)."),
    on: Text = option(PLACES, "Machines of bench.yaml to check (default: this machine)."),
    *,
    place: options.PlaceFlags,
    json: bool = options.JSON,
) -> None:
    """Check this machine: what is installed, what is missing, and how to install it."""
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
