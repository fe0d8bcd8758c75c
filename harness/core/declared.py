"""Declarations of an author, held to what the harness can work with where they are made, at their line."""

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from harness.core.errors import UsageError

WORD = r"[A-Za-z0-9_.-]+"  # the characters of names in a case's id
LONG = 60  # characters of a value: of a longer one its type is named


class Rule(NamedTuple):
    """What a part of a declaration must be, as a predicate and in `words`; or None where it is `optional`."""

    part: str
    usable: Callable[[Any], bool]
    words: str
    optional: bool = False


def require_usable(declared: object, rules: Iterable[Rule]) -> None:
    """UsageError that names the first part of a declaration which cannot be used, and what to use instead."""
    for rule in rules:
        value: object = vars(declared)[rule.part]  # an author may have given anything
        if not (rule.optional and value is None) and not rule.usable(value):
            text = repr(value)
            given = text if len(text) <= LONG else f"a {type(value).__name__}"
            raise UsageError(f"{type(declared).__name__}: its {rule.part} is {given}; use {rule.words}")


def is_word(value: object) -> bool:
    """Whether a value can be a name in ids."""
    return isinstance(value, str) and re.fullmatch(WORD, value) is not None
