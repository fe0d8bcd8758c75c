"""Command-line options, declared as defaults of parameters or as fields of dataclasses (groups)."""

import functools
from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_type_hints

import typer

# Nothing needs == and repr(), and generating them would slow down every start.
option_group = dataclass(frozen=True, eq=False, repr=False)
REQUIRED = MISSING  # the default of a required option or argument
DECLARED = (
    "declared"  # key in a field's metadata: a function from the flag's usual name to typer's declaration
)


def option(section: str, text: str, default: Any = None, *, name: str | None = None) -> Any:
    """An option in a section of the help. `name` replaces the name of the parameter or field."""
    return _declare(default, lambda usual: typer.Option(name or usual, help=text, rich_help_panel=section))


def flag(section: str, text: str, *, name: str | None = None) -> Any:
    """An option without a value."""
    return option(section, text, False, name=name)


def argument(text: str, default: Any = None) -> Any:
    """A positional argument, or several."""
    return _declare(default, lambda _: typer.Argument(help=text))


def _declare(default: Any, declared: Callable[[str], Any]) -> Any:
    return field(default=default, metadata={DECLARED: declared})


def splice_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Replace each parameter that is a dataclass by its fields, so that typer sees them.

    The command itself is called with the dataclasses, built from the values that typer parsed.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    flat: dict[str, Parameter] = {}
    for name, parameter in signature(command).parameters.items():
        plain = _parameter(name, hints[name], parameter.default)
        for each in group_parameters(groups[name]) if name in groups else (plain,):
            if each.name in flat:
                raise TypeError(f"{command.__name__}: two parameters are named {each.name}")
            flat[each.name] = each

    @functools.wraps(command)
    def call_with_groups(**values: Any) -> None:
        built = {
            name: group(**{field.name: values.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**values, **built)

    # typer reads the signature by inspect.signature() and the annotations by typing.get_type_hints().
    signature_of_all = Signature(list(flat.values()))
    call_with_groups.__signature__ = signature_of_all  # pyright: ignore[reportAttributeAccessIssue]
    call_with_groups.__annotations__ = {name: each.annotation for name, each in flat.items()}
    return call_with_groups


@functools.cache
def group_parameters(group: type[Any]) -> tuple[Parameter, ...]:
    """The fields of a dataclass as keyword parameters; a field without a default is a required option."""
    hints = get_type_hints(group, include_extras=True)
    return tuple(_parameter(declared.name, hints[declared.name], declared) for declared in fields(group))


def _parameter(name: str, hint: Any, default: Any) -> Parameter:
    """A parameter as typer reads it, with the declaration in its annotation."""
    if isinstance(default, Field):
        if DECLARED in default.metadata:
            usual = f"--{name.strip('_').replace('_', '-')}"
            hint = Annotated[hint, default.metadata[DECLARED](usual)]
        default = Parameter.empty if default.default is MISSING else default.default
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hint)
