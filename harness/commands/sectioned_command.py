"""A command: its help in sections, its examples, and the combinations of flags that it refuses."""

import functools
import tomllib
from collections.abc import Callable, Collection, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import typer
from typer import Abort
from typer.core import TyperCommand

from harness.commands.option_groups import splice_groups
from harness.core.errors import UsageError

KERNEL, MODELS, ALL_MODELS = "FILE.py::KERNEL", "list models", "list models without NAME"
# The modes that words of a command choose, rather than a flag.
MODES_OF: dict[str, Callable[[Sequence[str]], Collection[str]]] = {
    "static": lambda words: [KERNEL for word in words if "::" in word or word.endswith(".py")],
    "list": lambda words: [MODELS, *[ALL_MODELS][len(words) - 1 :]] if words[:1] == ["models"] else [],
}


class Exclusion(NamedTuple):
    """The flags that a mode of a command refuses: those in `refused`, or all but those in `taken`."""

    mode: str
    why: str
    refused: str = ""
    taken: str = ""

    def excludes(self, flag: str) -> bool:
        return flag in self.refused.split() if self.refused else flag not in {self.mode, *self.taken.split()}


class Requirement(NamedTuple):
    """A flag that has an effect only with another flag, or with one of several."""

    flag: str
    needed: Sequence[str]
    why: str


@functools.cache
def conflicts() -> dict[str, tuple[list[Exclusion], list[Requirement]]]:
    """The exclusions and requirements of each command."""
    table = tomllib.loads(Path(__file__).with_name("flag_conflicts.toml").read_text("utf-8"))
    return {
        command: (
            [Exclusion(**each) for each in rules.get("excludes", ())],
            [Requirement(**each) for each in rules.get("needs", ())],
        )
        for command, rules in table.items()
    }


def refuse_conflicts(command: str, typed: Sequence[str], words: Sequence[str]) -> None:
    """UsageError for the first flag without an effect. `words` are the values of arguments."""
    exclusions, needs = conflicts().get(command, ((), ()))
    modes = {*typed, *(MODES_OF[command](words) if command in MODES_OF else ())}
    for exclusion in exclusions:
        for flag in typed if exclusion.mode in modes else ():
            if exclusion.excludes(flag):
                raise UsageError(
                    f"{flag} cannot be combined with {exclusion.mode}: {exclusion.why}; use only one"
                )
    for need in needs:
        if need.flag in typed and modes.isdisjoint(need.needed):
            raise UsageError(f"{need.flag} needs {' or '.join(need.needed)}: {need.why}")


def examples() -> dict[str, dict[str, str]]:
    """Command → example lines, each with its purpose."""
    return tomllib.loads(Path(__file__).with_name("examples.toml").read_text("utf-8"))


class SectionedCommand(TyperCommand):
    """A command whose help has a section per `rich_help_panel`.

    The help is plain text, because rich's panels take longer to load than the rest of `--help`.
    """

    def invoke(self, ctx: Any) -> Any:
        typed, words = list[str](), list[str]()
        for each in self.params:
            source = ctx.get_parameter_source(each.name or "")
            if source is None or source.name != "COMMANDLINE":
                continue
            if each.param_type_name == "argument":
                value = ctx.params[each.name or ""]
                words += map(str, value if isinstance(value, (list, tuple)) else [value])
                typed.append((each.name or "").upper())
            else:
                typed += each.opts
        refuse_conflicts(self.name or "", typed, words)
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:  # typer would end with 130 and no message
            raise Abort from None

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """UsageError for an option with an empty value, for example `--out "$FILE"` without a FILE."""
        valued = {name for each in self.params if not getattr(each, "is_flag", True) for name in each.opts}
        for before, word in pairwise(["", *args]):
            name, equals, value = word.partition("=")
            if (before in valued and not word) or (name in valued and equals and not value):
                raise UsageError(f"{name or before}: has an empty value; write a value, or leave it out")
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
    return lambda function: app.command(name, cls=SectionedCommand, short_help=function.__doc__)(
        splice_groups(function)
    )
