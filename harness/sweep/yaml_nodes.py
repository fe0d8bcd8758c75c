"""YAML files and flags as nodes: each value has its place, so that every error starts with one.

A place is `bench.yaml:12` or a flag, for example `--seq`; both use the same parsing.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.core.errors import UsageError, decode_utf8, nearest
from harness.core.units import format_bytes

_STANDARD = "tag:yaml.org,2002:"  # prefix of YAML's own tags
_PLAIN = ("null", "bool", "str", "int", "float", "timestamp", "value", "seq", "map")
LARGEST_BYTES = 16 << 20


@dataclass(frozen=True)
class Scalar:
    """One value. `text` is its spelling; `value` is None for an empty one, a bool for `true` or `on`.

    Numbers remain text, because YAML would read `010` as eight and `1:30` as ninety.
    """

    where: str
    text: str
    value: str | bool | None

    @classmethod
    def from_text(cls, where: str, text: str) -> Scalar:
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
        """The entries of the mapping under a key; empty without the key."""
        return table(self.entries[name].node, name).entries if name in self.entries else {}


Node = Scalar | Listing | YamlMapping


@contextmanager
def at(where: str) -> Generator[None]:
    """Prefix the errors raised in this block with a place, all as UsageError or its subclass."""
    try:
        yield
    except (ValueError, UsageError) as error:
        kind = type(error) if isinstance(error, UsageError) else UsageError
        raise kind(f"{where}: {error}") from None


def table(node: Node, what: str) -> YamlMapping:
    if not isinstance(node, YamlMapping):
        raise UsageError(f"{node.where}: {what} must be a mapping; write name: value")
    return node


def scalar(node: Node, what: str) -> Scalar:
    if not isinstance(node, Scalar) or node.value is None:
        raise UsageError(f"{node.where}: {what} needs one value")
    return node


def items(node: Node, what: str) -> tuple[Node, ...]:
    """The members of a list, or a single value as a list of one."""
    members = node.items if isinstance(node, Listing) else (node,)
    if not members:
        raise UsageError(f"{node.where}: {what} is an empty list; write at least one value, or remove it")
    return members


def scalars(node: Node, what: str) -> tuple[Scalar, ...]:
    values: list[Scalar] = []
    for item in items(node, what):
        if not isinstance(item, Scalar):
            raise UsageError(f"{item.where}: {what} must be a value or a list of values, not nested")
        values.append(item)
    return tuple(values)


def choices(node: Node, what: str, known: Sequence[str]) -> tuple[str, ...]:
    """A value or a list of values from a closed set. UsageError for a duplicate."""
    chosen: list[str] = []
    for item in scalars(node, what):
        if item.text not in known:
            raise UsageError(f'{item.where}: unknown {what} "{item.text}"{nearest(item.text, known)}')
        if item.text in chosen:
            raise UsageError(f"{item.where}: {what} lists {item.text} twice; name it once")
        chosen.append(item.text)
    return tuple(chosen)


def read(path: Path) -> Node:
    """Read a file as nodes. UsageError names the file, and the line that is not YAML."""
    import yaml  # takes 15 ms, which commands without a file save

    file = display_path(path)
    try:
        root = yaml.compose(_text(path, file), yaml.SafeLoader)
        if root is None:
            raise UsageError(f"{file}:1: the file is empty; write at least suites: or defaults:")
        return _Reader(file, yaml.SafeLoader("")).read(root)
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        # Not only YAML's errors: also control characters, invalid character numbers, and endless lists.
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        place = f"{file}:{mark.line + 1}" if mark else file
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise UsageError(
            f"{place}: not YAML ({problem}); write ids with brackets and values with colons in quotes"
        ) from None


def display_path(path: Path) -> str:
    """The path for errors: relative if that is shorter."""
    return min(os.path.relpath(path), str(path.absolute()), key=len)


def _text(path: Path, file: str) -> str:
    try:
        with path.open("rb") as opened:  # also a FIFO, as in a shell's `<(…)`
            data = opened.read(LARGEST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{file}: cannot be read ({error.strerror}); use another with --config") from None
    if len(data) > LARGEST_BYTES:
        size = format_bytes(LARGEST_BYTES)
        raise UsageError(f"{file}: larger than {size}; use another with --config")
    return decode_utf8(data, file)


class _Reader:
    """Converts PyYAML's nodes to nodes of this module. Each node with aliases is converted once."""

    def __init__(self, file: str, loader: Any) -> None:
        self.file = file
        self.loader = loader
        self.known: dict[int, Node] = {}

    def read(self, node: Any) -> Node:
        if id(node) not in self.known:
            self.known[id(node)] = self._read(node)
        return self.known[id(node)]

    def _read(self, node: Any) -> Node:
        where, kind = self.place(node), node.tag.removeprefix(_STANDARD)
        if kind not in _PLAIN:
            raise UsageError(f"{where}: the tag {node.tag} is not supported; remove it")
        if node.id == "mapping":
            return self._read_mapping(node)
        if node.id == "sequence":
            return Listing(where, tuple(map(self.read, node.value)))
        value: str | bool | None = None if kind == "null" else node.value
        if kind == "bool":
            value = self.loader.bool_values[node.value.lower()]
        return Scalar(where, node.value, value)

    def _read_mapping(self, node: Any) -> YamlMapping:
        places: dict[str, str] = {}  # of the mapping's own keys, not of keys merged with <<
        for key, _ in node.value:
            where, kind = self.place(key), key.tag.removeprefix(_STANDARD)
            if kind not in {"str", "merge"}:
                name = key.value if key.id == "scalar" else f"a {key.id}"
                raise UsageError(f"{where}: the key {name} is not text; write it in quotes")
            if kind == "str" and key.value in places:
                raise UsageError(
                    f'{where}: duplicate key "{key.value}", also in {places[key.value]}; remove one'
                )
            places[key.value] = where
        self.loader.flatten_mapping(node)
        entries = {key.value: Entry(self.place(key), self.read(value)) for key, value in node.value}
        return YamlMapping(self.place(node), entries)

    def place(self, node: Any) -> str:
        return f"{self.file}:{node.start_mark.line + 1}"
