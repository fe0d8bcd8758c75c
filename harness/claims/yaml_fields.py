"""A mapping of a claims.yaml as the fields of what it describes: each key has a reader.

A reader takes the value and its key's name, and its errors begin with the value's place.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from harness.claims import expression as expressions
from harness.claims.expression import Expression
from harness.core.errors import UsageError
from harness.core.units import parse_share
from harness.sweep.yaml import nodes as yaml_nodes
from harness.sweep.yaml.nodes import Node, at, scalar

Reader = Callable[[Node, str], Any]


def fields(
    node: Node, what: str, readers: Mapping[str, Reader], required: Sequence[str] = ()
) -> dict[str, Any]:
    """A mapping's values by key, as read. UsageError for a key without a reader, or a missing one."""
    mapping = yaml_nodes.table(node, what)
    mapping.refuse_unknown(tuple(readers), f"of {what}")
    for name in required:
        if name not in mapping.entries:
            raise UsageError(f"{mapping.where}: {what} needs {name}")
    return {name: readers[name](entry.node, name) for name, entry in mapping.entries.items()}


def text(node: Node, name: str) -> str:
    return scalar(node, name).text.strip()


def expression(node: Node, _: str) -> Expression:
    raw = scalar(node, "an expression")
    with at(raw.where):
        return expressions.parse(raw.text)


def share(node: Node, name: str) -> float:
    raw = scalar(node, name)
    with at(raw.where):
        return parse_share(raw.text)


def flag(node: Node, name: str) -> bool:
    raw = scalar(node, name)
    if not isinstance(raw.value, bool):
        raise UsageError(f"{raw.where}: {name} is true or false, not {raw.text}")
    return raw.value
