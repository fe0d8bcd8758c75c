"""Read YAML without losing the line of any key or value."""

import os
from pathlib import Path

import yaml
from yaml.nodes import MappingNode, ScalarNode, SequenceNode
from yaml.nodes import Node as YamlNode
from yaml.reader import ReaderError

from harness.core.errors import UsageError, decode_utf8
from harness.core.units import format_bytes
from harness.sweep.yaml.nodes import Entry, Listing, Node, Scalar, YamlMapping

_STANDARD = "tag:yaml.org,2002:"  # what the tags that YAML itself gives begin with
_PLAIN = ("null", "bool", "str", "int", "float", "timestamp", "value", "seq", "map")
_MERGE = f"{_STANDARD}merge"  # of the key <<
LARGEST_BYTES = 16 << 20


def read(path: Path) -> Node:
    """The file as nodes. UsageError names the file, and the line of what is not YAML."""
    file = display_path(path)
    text = _text(path, file)
    try:
        loader = _Loader(text)
        loader.name = file  # which the place of every node begins with
        root = loader.get_single_data()
    except yaml.MarkedYAMLError as error:
        raise UsageError(_syntax(error, file)) from None
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise UsageError(f"{file}:{line}: a control character stands here; remove it") from None
    except (ValueError, OverflowError):  # of chr(), which the scanner leaves as they are
        raise UsageError(f"{file}: a \\U stands before the number of no character; remove it") from None
    except RecursionError:
        raise UsageError(f"{file}: lists are nested too deeply to read; write them flat") from None
    if root is None:
        raise UsageError(f"{file}:1: the file is empty; it needs at least suites: or defaults:")
    return root


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


def _syntax(error: yaml.MarkedYAMLError, file: str) -> str:
    mark = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark else 1
    start_mark = error.context_mark
    context = f" {error.context} begun in line {start_mark.line + 1}" if start_mark and error.context else ""
    return (
        f"{file}:{line}: not YAML{context}: {error.problem or 'unreadable'}; "
        "ids with brackets and values with colons need quotes"
    )


class _Loader(yaml.SafeLoader):
    """Reads nodes with their places instead of values. What an alias names is read once."""


def _read_node(loader: _Loader, node: YamlNode) -> Node:
    if isinstance(node, MappingNode):
        return _read_mapping(loader, node)
    if isinstance(node, SequenceNode):
        return Listing(_place(node), tuple(loader.construct_object(item, deep=True) for item in node.value))
    value: str | bool | None = node.value
    if node.tag == f"{_STANDARD}null":
        value = None
    elif node.tag == f"{_STANDARD}bool":
        value = loader.bool_values[node.value.lower()]
    return Scalar(_place(node), node.value, value)


def _read_mapping(loader: _Loader, node: MappingNode) -> YamlMapping:
    places: dict[str, str] = {}  # of the mapping's own keys, not of those that << brings in
    for key, _ in node.value:
        if key.tag not in {f"{_STANDARD}str", _MERGE}:
            written = f" {key.value}" if isinstance(key, ScalarNode) else ""
            raise UsageError(f"{_place(key)}: the key{written} is not text; write it in quotes")
        if key.value in places and key.tag != _MERGE:
            raise UsageError(
                f'{_place(key)}: duplicate key "{key.value}"; it stands in {places[key.value]} too'
            )
        places[key.value] = _place(key)
    loader.flatten_mapping(node)
    entries = {
        key.value: Entry(_place(key), loader.construct_object(value, deep=True)) for key, value in node.value
    }
    return YamlMapping(_place(node), entries)


def _refuse_tag(_: _Loader, node: YamlNode) -> Node:
    raise UsageError(f"{_place(node)}: the tag {node.tag} has no meaning here; remove it")


def _place(node: YamlNode) -> str:
    return f"{node.start_mark.name}:{node.start_mark.line + 1}"


_Loader.yaml_constructors = {
    **dict.fromkeys((f"{_STANDARD}{kind}" for kind in _PLAIN), _read_node),
    None: _refuse_tag,
}
