"""Validation of an author's declarations: values are checked against field types when they are created."""

import inspect
import re
from collections.abc import Callable, Mapping
from functools import cache
from numbers import Integral, Real
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from harness.core.errors import UsageError

WORD = r"[A-Za-z0-9_.-]+"  # the characters of names in a case's id
Word = Annotated[str, "letters, digits and _"]
LONG = 60  # characters of a value; for a longer value, errors name its type
NUMBERS = {int: Integral, float: Real}  # numpy's numbers are instances


class Declared:
    """Base class of the dataclasses that authors create."""

    def __post_init__(self) -> None:
        """Check all values. UsageError names the first value that is not of its field's type."""
        for name, kind in _types(type(self)).items():
            value = getattr(self, name)
            if not _fits(value, kind):
                given = text if len(text := repr(value)) <= LONG else f"a {type(value).__name__}"
                raise UsageError(f"{type(self).__name__}: its {name} is {given}; use {_in_words(kind)}")


def is_word(value: object) -> bool:
    """Whether a value can be a name in ids."""
    return isinstance(value, str) and re.fullmatch(WORD, value) is not None


@cache
def _types(declared: type) -> dict[str, Any]:
    return get_type_hints(declared, include_extras=True)


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value and its items are of a type; a function type accepts any callable."""
    outer, inner = get_origin(kind) or kind, get_args(kind)
    if outer is Any:
        return True
    if outer is Annotated:
        return is_word(value)
    if outer in (Union, UnionType):
        return any(_fits(value, each) for each in inner)
    if outer is Callable:
        return callable(value)
    if outer is Mapping:
        pairs = value.items() if isinstance(value, Mapping) else ((None, None),)
        return all(_fits(key, inner[0]) and _fits(each, inner[1]) for key, each in pairs)
    if outer is tuple:
        return isinstance(value, (tuple, list)) and all(_fits(each, inner[0]) for each in value)
    if outer is bool and getattr(value, "shape", None) == ():
        value = value.item()  # numpy's
    return isinstance(value, NUMBERS.get(outer, outer))


def _in_words(kind: Any) -> str:
    """A type as its author would write it, for example `Mapping[str, Semantics]`."""
    word = get_args(kind)[1] if get_origin(kind) is Annotated else inspect.formatannotation(kind)
    return re.sub(r"\b\w+\.", "", word)
