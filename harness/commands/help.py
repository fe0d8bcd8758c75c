"""The help of a command: a section per group of options, and at the end the examples of examples.toml."""

from pathlib import Path
from typing import Any

from typer import Abort
from typer.core import TyperCommand


def examples() -> dict[str, dict[str, str]]:
    """Command → lines that call it, each with what it is for."""
    import tomllib

    return tomllib.loads(Path(__file__).with_name("examples.toml").read_text("utf-8"))


class SectionedCommand(TyperCommand):
    """A command whose help has a section per `rich_help_panel`.

    Plain text, as rich's own panels take longer to load than all else that `--help` does.
    """

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:  # of which typer would make a bare 130, and nobody says "stopped"
            raise Abort from None

    def format_options(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            usual = "Arguments" if parameter.param_type_name == "argument" else "Options"
            row = parameter.get_help_record(ctx)
            if row is not None:
                sections.setdefault(getattr(parameter, "rich_help_panel", None) or usual, []).append(row)
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl(rows)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        with formatter.section("Examples"):
            formatter.write_dl(list(examples()[self.name or ""].items()), col_max=36)
