"""YAML and flag values as written, each with its place.

A place is `bench.yaml:12` or a flag such as `--seq`: both go through the same parsing, and every
error begins with the place of its cause.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from harness.core.errors import UsageError, nearest


@dataclass(frozen=True)
class Scalar:
    """One value. `text` is its spelling; `value` is None for an empty one, a bool for `true` or `on`.

    Numbers stay text: YAML would read `010` as eight and `1:30` as ninety.
    """

    where: str
    text: str
    value: str | bool | None

    @classmethod
    def given(cls, where: str, text: str) -> Scalar:
        return cls(where, text, text)


@dataclass(frozen=True)
class Listing:
    """A list, with its place."""

    where: str
    items: tuple[Node, ...]


@dataclass(frozen=True)
class Entry:
    """A key's place and its value."""

    where: str
    node: Node


@dataclass(frozen=True)
class YamlMapping:
    """A mapping, with its place."""

    where: str
    entries: Mapping[str, Entry]

    def refuse_unknown(self, known: Sequence[str], context: str) -> None:
        for name, entry in self.entries.items():
            if name not in known:
                raise UsageError(f'{entry.where}: unknown key "{name}" {context}{nearest(name, known)}')

    def section(self, name: str) -> Mapping[str, Entry]:
        """The entries of the mapping under a key; none without the key."""
        return table(self.entries[name].node, name).entries if name in self.entries else {}


Node = Scalar | Listing | YamlMapping


@contextmanager
def at(where: str) -> Generator[None]:
    """Put a value's place before the errors raised in this block, all as UsageError or its subclass."""
    try:
        yield
    except (ValueError, UsageError) as error:
        kind = type(error) if isinstance(error, UsageError) else UsageError
        raise kind(f"{where}: {error}") from None


def table(node: Node, what: str) -> YamlMapping:
    if not isinstance(node, YamlMapping):
        raise UsageError(f"{node.where}: {what} must be a mapping, written name: value")
    return node


def scalar(node: Node, what: str) -> Scalar:
    if not isinstance(node, Scalar) or node.value is None:
        raise UsageError(f"{node.where}: {what} needs one value")
    return node


def items(node: Node, what: str) -> tuple[Node, ...]:
    """The members of a list, or a single value as a list of one."""
    members = node.items if isinstance(node, Listing) else (node,)
    if not members:
        raise UsageError(f"{node.where}: {what} is an empty list; name at least one value or leave it out")
    return members


def scalars(node: Node, what: str) -> tuple[Scalar, ...]:
    values: list[Scalar] = []
    for item in items(node, what):
        if not isinstance(item, Scalar):
            raise UsageError(f"{item.where}: {what} takes a value or a list of values, nothing nested")
        values.append(item)
    return tuple(values)


def words(node: Node, what: str, known: Sequence[str]) -> tuple[str, ...]:
    """A value or a list of values from a closed set; UsageError for a duplicate."""
    chosen: list[str] = []
    for item in scalars(node, what):
        if item.text not in known:
            raise UsageError(f'{item.where}: unknown {what} "{item.text}"{nearest(item.text, known)}')
        if item.text in chosen:
            raise UsageError(f"{item.where}: {what} lists {item.text} twice; name it once")
        chosen.append(item.text)
    return tuple(chosen)
