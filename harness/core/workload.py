"""Workload fields as data: each family's workload is a frozen dataclass.

The kind, default and choices of a field are sent as JSON, so that the command line can plan a plugin's family
without importing the plugin.
"""

import dataclasses
import functools
import re
import sys
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from harness.core.declared import Declared
from harness.core.errors import UsageError, nearest
from harness.core.units import parse_count
from harness.core.workload_files import SUFFIXES, identify_captured, identify_table, is_captured, is_table

Value = int | float | bool | str | None
LARGEST = 2**63 - 1  # that a record can store
SEPARATORS = re.compile(r"[,@\[\]]")  # of the parts of an id

MODES = ("fwd", "bwd", "fwd_bwd")
DTYPES = ("f64", "f32", "bf16", "f16")
DEVICES = ("cpu", "cuda", "tpu")
AXIS = "axis"  # key of `axis`'s properties in a field's metadata
KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    "int": ((int,), "a whole number"),
    "float": ((int, float), "a number"),
    "bool": ((bool,), "true or false"),
    "str": ((str,), "a text"),
}


def axis(
    default: Any = dataclasses.MISSING,
    *,
    choices: tuple[str, ...] = (),
    minimum: int = 1,
    later: bool = False,
    table: bool = False,
    captured: bool = False,
) -> Any:
    """A workload field with more properties than its type; without a default it is required.

    `choices` closes the set of strings, and `minimum` bounds integers. `later` marks a field that was added
    after records existed: it appears in case ids only if it differs from its default, so old ids stay valid.
    In addition to its choices, a `table` field can name a CSV file of document lengths, and a `captured`
    field a file of tensors.
    """
    properties = {
        "choices": choices,
        "minimum": minimum,
        "later": later,
        "table": table,
        "captured": captured,
    }
    return dataclasses.field(default=default, kw_only=True, metadata={AXIS: properties})


@dataclass(frozen=True)
class Field(Declared):
    """One workload field as data. `kind` is `int`, `float`, `bool` or `str`."""

    name: str
    kind: str
    required: bool
    default: Value = None
    choices: tuple[str, ...] = ()
    minimum: int = 1
    later: bool = False
    optional: bool = False
    table: bool = False
    captured: bool = False

    def parse(self, raw: object) -> Value:
        """The value of `raw` from bench.yaml or a flag. ValueError if it is not valid."""
        if raw is None or raw == "none":
            return self.check(None)
        if self.kind == "int":
            return self.check(parse_count(raw), str(raw))
        if self.kind == "float":
            return self.check(_number(raw), str(raw))
        if self.kind == "bool" and str(raw).lower() in {"true", "false"}:
            return str(raw).lower() == "true"
        return self.check(raw if self.kind == "bool" else self._identify(str(raw)))

    def check(self, value: Any, written: str | None = None) -> Value:
        """The value, if it is valid for the field; a whole number becomes a float in a float field.

        ValueError, with the value as it was `written`, if it is not valid.
        """
        shown = f'"{value}"' if isinstance(value, str) else written or repr(value)
        if value is None:
            if self.optional:
                return None
            raise ValueError(f"{self.name} needs a value")
        types, description = KINDS[self.kind]
        if not isinstance(value, types) or isinstance(value, bool) != (self.kind == "bool"):
            raise ValueError(f"{self.name} must be {description}, not {shown}")
        if isinstance(value, str):
            return self._check_text(value, shown)
        if self.kind == "float":
            if not -sys.float_info.max <= value <= sys.float_info.max:
                raise ValueError(f"{self.name} must be a finite number, not {shown}")
            return float(value)
        if self.kind == "int" and not self.minimum <= value <= LARGEST:
            what = f"must be at least {self.minimum}, not" if value < self.minimum else "is too large:"
            raise ValueError(f"{self.name} {what} {shown}")
        return value

    def require_storable_default(self) -> None:
        """ValueError for a default that cannot be stored; choices and minimum are not checked."""
        if self.default is not None:
            replace(self, choices=(), minimum=-LARGEST, table=False, captured=False).check(self.default)

    def _check_text(self, text: str, shown: str) -> str:
        if SEPARATORS.search(text) or not text.isprintable():
            raise ValueError(
                f"{self.name} {shown} is part of case ids; use no commas, @, brackets or control characters"
            )
        if (self.table and is_table(text)) or (self.captured and is_captured(text)):
            return text if "#" in text else self._identify(text)  # reading the file checks the hash
        if self.choices and text not in self.choices:
            file = ", or a CSV file" if self.table else ""
            file += f", or a file: {', '.join(SUFFIXES)}" if self.captured else ""
            raise ValueError(f'unknown {self.name} "{text}"{nearest(text, self.choices)}{file}')
        return text

    def _identify(self, text: str) -> str:
        """The text, or the identity of the file that it names. ValueError if the file's hash differs."""
        if self.table and is_table(text):
            return identify_table(text)
        return identify_captured(text) if self.captured and is_captured(text) else text


def _number(raw: object) -> object:
    """The number in a text; any other value unchanged."""
    try:
        return float(str(raw))
    except ValueError:
        return raw


class Workload:
    """Base class of the families' workloads, which checks values by their fields."""

    def __post_init__(self) -> None:
        """Check every value, except defaults, by its field. UsageError as for bench.yaml."""
        for field in fields_of(type(self)):
            value = getattr(self, field.name)
            if not field.required and value is field.default:
                continue
            try:
                checked = field.check(value)
            except ValueError as error:
                raise UsageError(f"{type(self).__name__}: {error}") from None
            if checked is not value:
                object.__setattr__(self, field.name, checked)


def canonical(value: Value) -> str:
    """The canonical spelling of a value in ids: decimal integers, shortest floats, true/false, none."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)


def kind_of(annotation: object) -> tuple[str, bool, tuple[str, ...]]:
    """(kind, optional, choices) of a field's or an option's type annotation."""
    members = typing.get_args(annotation)
    if typing.get_origin(annotation) in {typing.Union, types.UnionType}:
        inner = [member for member in members if member is not type(None)]
        if len(inner) == 1:
            kind, _, choices = kind_of(inner[0])
            return kind, True, choices
    if typing.get_origin(annotation) is typing.Literal:
        if not all(isinstance(member, str) for member in members):
            raise UsageError(f"{annotation} has a value that is not text; use int, float or bool")
        return "str", False, members
    for known in (bool, int, float, str):
        if annotation is known:
            return known.__name__, False, ()
    raise UsageError(f"a field of type {annotation} cannot be swept; use int, float, bool or str")


def declared_field(
    name: str, annotation: object, default: Any, *, choices: tuple[str, ...] = (), **more: Any
) -> Field:
    """The field of an author's declaration; `choices` take precedence over the annotation's.

    `default` is dataclasses.MISSING if a value is required. UsageError, with its name, for a type that cannot
    be swept, and for a default that cannot be stored.
    """
    required = default is dataclasses.MISSING
    try:
        kind, optional, annotated = kind_of(annotation)
        default = None if required else default
        field = Field(name, kind, required, default, choices or annotated, optional=optional, **more)
        field.require_storable_default()
    except (UsageError, ValueError) as error:
        raise UsageError(f"declaration of {name}: {error}") from None
    return field


@functools.cache
def fields_of(workload: type) -> tuple[Field, ...]:
    """The fields of a workload dataclass, in the order of their declaration."""
    hints = typing.get_type_hints(workload)
    return tuple(
        declared_field(entry.name, hints[entry.name], entry.default, **entry.metadata.get(AXIS, {}))
        for entry in dataclasses.fields(workload)
    )


def shown_fields(fields: tuple[Field, ...], values: Mapping[str, Value]) -> dict[str, Value]:
    """The sorted fields of a point for its id, without later ones that have their default."""
    by_name = {field.name: field for field in fields}
    return {
        name: values[name]
        for name in sorted(values)
        if not (by_name[name].later and values[name] == by_name[name].default)
    }
