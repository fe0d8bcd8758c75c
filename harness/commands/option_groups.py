"""Command-line options: declared as defaults of parameters, or in groups, which are dataclasses.

The help of a command has a section per group, and at the end the examples of examples.toml.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from inspect import Parameter, Signature, signature
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, ClassVar, get_type_hints

import typer
from typer import Abort
from typer.core import TyperCommand

from harness.core.errors import UsageError

# No == and no repr(): nothing needs them, and generating them would slow every start.
option_group = dataclass(frozen=True, eq=False, repr=False)
REQUIRED = MISSING  # as the default of what has to be given
DECLARED = "declared"  # in a field's metadata: a flag's usual name → what typer knows of the parameter


def examples() -> dict[str, dict[str, str]]:
    """Command → lines that call it, each with what it is for."""
    import tomllib

    return tomllib.loads(Path(__file__).with_name("examples.toml").read_text("utf-8"))


class SectionedCommand(TyperCommand):
    """A command whose help has a section per `rich_help_panel`.

    Plain text, as rich's own panels take longer to load than all else that `--help` does. `refuse` gets its
    name, the flags and arguments that are given, and the arguments' words; the application sets it.
    """

    refuse: ClassVar[Callable[[str, Sequence[str], Sequence[str]], None]]

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
        type(self).refuse(self.name or "", given, words)
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


def option(section: str, text: str, default: Any = None, *, name: str | None = None) -> Any:
    """An option in a section of the help; its name is that of the parameter or the field, or `name`."""
    return _declare(default, lambda usual: typer.Option(name or usual, help=text, rich_help_panel=section))


def flag(section: str, text: str, *, name: str | None = None) -> Any:
    """An option without a value."""
    return option(section, text, False, name=name)


def argument(text: str, default: Any = None) -> Any:
    """A word, or words, beside the options."""
    return _declare(default, lambda _: typer.Argument(help=text))


def _declare(default: Any, declared: Callable[[str], Any]) -> Any:
    return field(default=default, metadata={DECLARED: declared})


def command(app: typer.Typer, name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a command, with the fields of its groups of options as flags."""
    return lambda function: app.command(name, cls=SectionedCommand)(splice_groups(function))


def splice_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Replace each parameter that is a dataclass by the dataclass's fields, so that typer sees them.

    The command itself is called with the dataclasses, built of the values that typer has parsed.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    flat: dict[str, Parameter] = {}
    for name, parameter in signature(command).parameters.items():
        plain = _parameter(name, hints[name], parameter.default)
        for given in group_parameters(groups[name]) if name in groups else (plain,):
            if given.name in flat:
                raise TypeError(f"{command.__name__}: two parameters are named {given.name}")
            flat[given.name] = given

    @functools.wraps(command)
    def call_with_groups(**values: Any) -> None:
        built = {
            name: group(**{field.name: values.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**values, **built)

    # typer reads both: the one by inspect.signature(), the other by typing.get_type_hints()
    signature_of_all = Signature(list(flat.values()))
    call_with_groups.__signature__ = signature_of_all  # pyright: ignore[reportAttributeAccessIssue]
    call_with_groups.__annotations__ = {name: given.annotation for name, given in flat.items()}
    return call_with_groups


@functools.cache
def group_parameters(group: type[Any]) -> tuple[Parameter, ...]:
    """The fields of a dataclass as keyword parameters; a field without a default is a required option."""
    hints = get_type_hints(group, include_extras=True)
    return tuple(_parameter(declared.name, hints[declared.name], declared) for declared in fields(group))


def _parameter(name: str, hint: Any, default: Any) -> Parameter:
    """A parameter as typer reads it: what is declared of it stands in its annotation."""
    if isinstance(default, Field):
        if DECLARED in default.metadata:
            usual = f"--{name.strip('_').replace('_', '-')}"
            hint = Annotated[hint, default.metadata[DECLARED](usual)]
        default = Parameter.empty if default.default is MISSING else default.default
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hint)
