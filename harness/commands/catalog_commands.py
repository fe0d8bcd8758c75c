"""The commands about what is there: implementations, published claims, this machine."""

from pathlib import Path

import typer

from harness.commands import catalog_options, options, output
from harness.commands.option_groups import command
from harness.core.errors import UsageError
from harness.core.version import VERSION

group = typer.Typer()


@command(group, "list")
def list_(
    family: catalog_options.FamilyName = None,
    *,
    place: options.CatalogFlags,
    contracts: catalog_options.Contracts = False,
    json: options.Json = False,
) -> None:
    """List what can be run, or all about one family. Families, implementations, options, targets."""
    if contracts and family is None:
        raise UsageError("--contracts: name the family whose contracts are wanted")
    project = place.project()
    if family is None:
        output.print_catalog(project.catalog, json=json)
    else:
        from harness.commands.list_family import probe_family

        told = probe_family(project, family)
        output.print_family(project.catalog, family, *told, contracts=contracts, json=json)


@command(group, "new")
def new(
    family: catalog_options.NewFamily = None,
    name: catalog_options.NewName = None,
    own: catalog_options.OwnFamily = None,
    out: catalog_options.SourceFolder = Path(),
    *,
    place: options.CatalogFlags,
    json: options.Json = False,
) -> None:
    """Write a file to start from. NAME.py, an implementation of FAMILY, or with --family one of your own."""
    from harness.commands.new import write_new

    output.print_new(*write_new(place.project(), family, name, own, out), json=json)


@command(group, "claims")
def claims(
    names: catalog_options.ClaimNames = None,
    *,
    shard: catalog_options.ClaimShard = None,
    place: options.PlaceFlags,
    check: catalog_options.Check = False,
    json: options.Json = False,
) -> None:
    """Say which published numbers hold. All of them, those of a family, or one (FAMILY/ID)."""
    from harness.commands.claims import claims as judge_claims
    from harness.commands.claims import compile_shard, print_outcome

    if shard is not None:
        if check:
            raise UsageError("--shard: compiles alone; call claims --check without it, once all is compiled")
        raise typer.Exit(compile_shard(place.project(), names or (), shard, output.print_note, json=json))
    outcome = judge_claims(place.project(), names or (), check=check, say=output.print_note)
    raise typer.Exit(print_outcome(outcome, json=json, check=check))


@command(group, "doctor")
def doctor(
    noise: catalog_options.Noise = False,
    self_check: catalog_options.SelfCheck = False,
    roofline: catalog_options.MeasuredRoofline = False,
    *,
    place: options.PlaceFlags,
    json: options.Json = False,
) -> None:
    """Examine this machine. What a benchmark finds here, what is missing, and how to install it."""
    if noise + self_check + roofline > 1:
        raise UsageError(
            "--noise, --self-check and --roofline measure each by itself; call doctor once for each"
        )
    if noise:
        from harness.commands.gate import measure_noise

        measure_noise(place.project(), json=json)
    elif self_check:
        from harness.commands.self_check import check_self

        check_self(place.project(), VERSION, json=json)
    elif roofline:
        from harness.commands.measure_roofline import measure_rooflines

        measure_rooflines(place.project(), json=json)
    else:
        from harness.run.doctor import examine

        output.print_findings(examine(place.project().results), json=json)


@command(group, "machines")
def machines(
    name: catalog_options.PoolName = None, *, place: options.PlaceFlags, json: options.Json = False
) -> None:
    """List the machines of bench.yaml. What each is, its noise now, or why it is refused."""
    from harness.commands.machines import list_machines

    raise typer.Exit(list_machines(place.project(), name, json=json))
