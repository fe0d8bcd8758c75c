"""A command: its help in sections with examples, and what is refused before it runs.

The help has a section per group of options, and at the end the examples of examples.toml.
"""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import typer
from typer import Abort
from typer.core import TyperCommand

from harness.commands.flag_conflicts import refuse_conflicts
from harness.commands.option_groups import splice_groups
from harness.core.errors import UsageError


def examples() -> dict[str, dict[str, str]]:
    """Command → lines that call it, each with what it is for."""
    import tomllib

    return tomllib.loads(Path(__file__).with_name("examples.toml").read_text("utf-8"))


class SectionedCommand(TyperCommand):
    """A command whose help has a section per `rich_help_panel`.

    Plain text, as rich's own panels take longer to load than all else that `--help` does.
    """

    def invoke(self, ctx: Any) -> Any:
        given, words = list[str](), list[str]()
        for each in self.params:
            source = ctx.get_parameter_source(each.name or "")
            if source is None or source.name != "COMMANDLINE":
                continue
            if each.param_type_name == "argument":
                value = ctx.params[each.name or ""]
                words += map(str, value if isinstance(value, (list, tuple)) else [value])
                given.append((each.name or "").upper())
            else:
                given += each.opts
        refuse_conflicts(self.name or "", given, words)
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:  # typer would end with 130 and no message
            raise Abort from None

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """UsageError for an option with an empty value, as `--out "$FILE"` where the shell has no FILE."""
        valued = {name for each in self.params if not getattr(each, "is_flag", True) for name in each.opts}
        for before, word in pairwise(["", *args]):
            name, equals, value = word.partition("=")
            if (before in valued and not word) or (name in valued and equals and not value):
                raise UsageError(f'{name or before}: "" names nothing; give it a value, or leave it out')
        return super().parse_args(ctx, args)

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


def command(app: typer.Typer, name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a command, with the fields of its groups of options as flags."""
    return lambda function: app.command(name, cls=SectionedCommand)(splice_groups(function))
