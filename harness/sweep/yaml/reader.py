"""Read YAML without losing the line of any key or value."""

from __future__ import annotations

import os
import re
from pathlib import Path

import yaml
from yaml.nodes import MappingNode, ScalarNode, SequenceNode
from yaml.nodes import Node as YamlNode
from yaml.reader import ReaderError

from harness.core.errors import UsageError
from harness.core.units import format_bytes
from harness.core.utf8 import decode_utf8
from harness.sweep.yaml.nodes import Entry, Listing, Node, Scalar, YamlMapping

_NULL = "tag:yaml.org,2002:null"
_BOOL = "tag:yaml.org,2002:bool"
_TEXT = "tag:yaml.org,2002:str"
_MERGE = "tag:yaml.org,2002:merge"
_PLAIN = {_NULL, _BOOL, _TEXT} | {
    f"tag:yaml.org,2002:{kind}" for kind in ("int", "float", "timestamp", "value", "seq", "map")
}
LARGEST_BYTES = 16 << 20
_BEYOND = re.compile(r"\\U(?!00(?:0[0-9a-fA-F]|10))[0-9a-fA-F]{8}")  # the last character is U+10FFFF


def read(path: Path) -> Node:
    """The file as nodes. UsageError names file and line of anything that is not YAML."""
    file = display_path(path)
    text = _text(path, file)
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        if root is None:
            raise UsageError(f"{file}:1: the file is empty; it needs at least suites: or defaults:")
        return _Reader(file).node(root)
    except yaml.MarkedYAMLError as error:
        raise UsageError(_syntax(error, file)) from None
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise UsageError(f"{file}:{line}: a control character stands here; remove it") from None
    except (ValueError, OverflowError):  # of chr(), which the scanner leaves as they are
        beyond = _BEYOND.search(text)
        line = text.count("\n", 0, beyond.start()) + 1 if beyond else 1
        raise UsageError(f"{file}:{line}: no character has this number; the last is \\U0010FFFF") from None
    except RecursionError:
        line = _deepest_line(text)
        raise UsageError(f"{file}:{line}: lists are nested too deeply to read; write them flat") from None


def display_path(path: Path) -> str:
    """The path as errors show it: relative where that is shorter."""
    return min(os.path.relpath(path), str(path.absolute()), key=len)


def _text(path: Path, file: str) -> str:
    try:
        with path.open("rb") as opened:  # a FIFO, too: a shell's `<(…)` is one
            data = opened.read(LARGEST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{file}: cannot be read ({error.strerror}); name another with --config") from None
    if len(data) > LARGEST_BYTES:
        raise UsageError(
            f"{file}: more than {format_bytes(LARGEST_BYTES)}: no file of this kind; "
            "name another with --config"
        )
    return decode_utf8(data, file)


def _deepest_line(text: str) -> int:
    """The line with the most brackets, where nesting that nobody can read is written."""
    counts = [line.count("[") + line.count("{") for line in text.splitlines()]
    return 1 + counts.index(max(counts, default=0)) if counts else 1


def _syntax(error: yaml.MarkedYAMLError, file: str) -> str:
    mark = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark else 1
    start_mark = error.context_mark
    context = f" {error.context} begun in line {start_mark.line + 1}" if start_mark and error.context else ""
    return (
        f"{file}:{line}: not YAML{context}: {error.problem or 'unreadable'}; "
        "ids with brackets and values with colons need quotes"
    )


class _Reader:
    """Converts composed YAML nodes. The node that an alias names is converted once, however often used."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._done: dict[int, Node] = {}
        self._open: set[int] = set()

    def node(self, node: YamlNode) -> Node:
        key = id(node)
        if key in self._open:
            raise UsageError(
                f"{self._where(node)}: an alias stands inside what it names; write the value out"
            )
        if key not in self._done:
            self._open.add(key)
            self._done[key] = self._read_value(node)
            self._open.discard(key)
        return self._done[key]

    def _where(self, node: YamlNode) -> str:
        return f"{self._file}:{node.start_mark.line + 1}"

    def _read_value(self, node: YamlNode) -> Node:
        self._refuse_tag(node)
        if isinstance(node, MappingNode):
            return self._table(node)
        if isinstance(node, SequenceNode):
            return Listing(self._where(node), tuple(self.node(item) for item in node.value))
        value: str | bool | None = node.value
        if node.tag == _NULL:
            value = None
        elif node.tag == _BOOL:
            value = node.value.lower() in {"yes", "true", "on"}
        return Scalar(self._where(node), node.value, value)

    def _refuse_tag(self, node: YamlNode) -> None:
        if node.tag not in _PLAIN:
            raise UsageError(f"{self._where(node)}: the tag {node.tag} has no meaning here; remove it")

    def _table(self, node: MappingNode) -> YamlMapping:
        inherited: dict[str, Entry] = {}
        entries: dict[str, Entry] = {}
        for key, value in node.value:
            where = self._where(key)
            if key.tag == _MERGE:
                for name, entry in self._merge_anchors(value).items():
                    inherited.setdefault(name, entry)
                continue
            if key.tag != _TEXT:
                written = f" {key.value}" if isinstance(key, ScalarNode) else ""
                raise UsageError(f"{where}: the key{written} is not text; write it in quotes")
            if key.value in entries:
                raise UsageError(
                    f'{where}: duplicate key "{key.value}"; it stands in {entries[key.value].where} too'
                )
            entries[key.value] = Entry(where, self.node(value))
        return YamlMapping(self._where(node), {**inherited, **entries})

    def _merge_anchors(self, value: YamlNode) -> dict[str, Entry]:
        """The entries that `<<: *anchor` brings in; earlier anchors of a list win."""
        self._refuse_tag(value)
        entries: dict[str, Entry] = {}
        for part in value.value if isinstance(value, SequenceNode) else [value]:
            table = self.node(part)
            if not isinstance(table, YamlMapping):
                raise UsageError(f"{self._where(value)}: << needs a mapping, named by an alias such as *mask")
            for name, entry in table.entries.items():
                entries.setdefault(name, entry)
        return entries
