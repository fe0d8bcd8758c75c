"""Dataclasses as groups of command-line options."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints

import typer

from harness.commands.help import SectionedCommand


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
        plain = Parameter(name, Parameter.KEYWORD_ONLY, default=parameter.default, annotation=hints[name])
        for option in group_parameters(groups[name]) if name in groups else (plain,):
            if option.name in flat:
                raise TypeError(f"{command.__name__}: two parameters are named {option.name}")
            flat[option.name] = option

    @functools.wraps(command)
    def spliced(**values: Any) -> None:
        built = {
            name: group(**{field.name: values.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**values, **built)

    # typer reads both: the one by inspect.signature(), the other by typing.get_type_hints()
    spliced.__signature__ = Signature(list(flat.values()))  # pyright: ignore[reportAttributeAccessIssue]
    spliced.__annotations__ = {name: option.annotation for name, option in flat.items()}
    return spliced


@functools.cache
def group_parameters(group: type[Any]) -> tuple[Parameter, ...]:
    """The fields of a dataclass as keyword parameters; a field without a default is a required option."""
    hints = get_type_hints(group, include_extras=True)
    return tuple(
        Parameter(
            field.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(group)
    )
