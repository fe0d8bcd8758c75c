"""The command-line application, with its groups of commands in the order of `seqsweep --help`."""

import sys
from typing import Annotated, NoReturn

import typer

from harness.commands import catalog_commands, measuring_commands, stored_commands
from harness.commands.exit_codes import call_app
from harness.core.version import VERSION

app = typer.Typer(
    name="seqsweep",
    help="Benchmark long-context kernels over sequence lengths: check, time and compare implementations.",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(measuring_commands.group)
app.add_typer(stored_commands.group)
app.add_typer(catalog_commands.group)


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
    """The options of `seqsweep` without a command."""


def main() -> NoReturn:
    sys.exit(call_app(app, sys.argv[1:] or ["--help"]))


if __name__ == "__main__":
    main()
