"""The published tables of a family's claims.yaml, and the sources that they and its claims cite."""

import re
from collections.abc import Mapping, Sequence

from harness.claims import expression
from harness.claims.model import Citation, Source, Table
from harness.claims.yaml_fields import fields, text
from harness.core.errors import UsageError, nearest
from harness.sweep.yaml import nodes as yaml_nodes
from harness.sweep.yaml.nodes import Listing, Node, Scalar, items

SOURCE_KEYS: tuple[str, ...] = ("title", "of", "version", "url", "kept")
_LINES = re.compile(r"\d+(-\d+)?(,\d+(-\d+)?)*")


class Sources(dict[str, Source]):
    """The documents of a file, by their ids."""

    def citations(self, node: Node, name: str) -> tuple[Citation, ...]:
        """`id` or `id:lines`, once or in a list."""
        return tuple(self._citation(raw) for raw in yaml_nodes.scalars(node, name))

    def _citation(self, raw: Scalar) -> Citation:
        name, _, lines = raw.text.replace(" ", "").partition(":")
        if name not in self:
            raise UsageError(f'{raw.where}: unknown source "{name}"{nearest(name, self)}')
        if lines and not _LINES.fullmatch(lines):
            raise UsageError(f'{raw.where}: lines are written like 46, 28-39 or 46,51; not "{lines}"')
        return Citation(self[name], lines)


def sources_in(nodes: Mapping[str, Node]) -> Sources:
    readers = dict.fromkeys(SOURCE_KEYS, text)
    read = {name: fields(node, "a source", readers, required=("title",)) for name, node in nodes.items()}
    return Sources({name: Source(name, **given) for name, given in read.items()})


def table_of(name: str, node: Node, sources: Sources) -> Table:
    """The published table; UsageError, with its place, where a row does not fit its columns."""
    given = fields(
        node,
        "a table",
        {"source": sources.citations, "columns": _columns, "rows": items, "units": _units},
        required=("source", "columns", "rows"),
    )
    rows = [_row(row, given["columns"]) for row in given["rows"]]
    return Table(
        name,
        given["source"],
        given["columns"],
        rows=tuple(tuple(_cell(raw) for raw in row) for row in rows),
        written=tuple(tuple(raw.text for raw in row) for row in rows),
        units=given.get("units", "ms"),
    )


def _columns(node: Node, name: str) -> tuple[str, ...]:
    columns = tuple(raw.text for raw in yaml_nodes.scalars(node, name))
    if len(set(columns)) < len(columns):
        raise UsageError(f"{node.where}: two columns have one name")
    return columns


def _row(node: Node, columns: Sequence[str]) -> tuple[Scalar, ...]:
    if not isinstance(node, Listing) or len(node.items) != len(columns):
        raise UsageError(f"{node.where}: a row has {len(columns)} cells: {', '.join(columns)}")
    cells = tuple(item for item in node.items if isinstance(item, Scalar))
    if len(cells) < len(columns):
        raise UsageError(f"{node.where}: a cell is one value")
    return cells


def _cell(node: Scalar) -> float | str | None:
    """A cell's number; None for an empty cell; a word such as OOM unchanged."""
    if node.value is None or isinstance(node.value, bool):
        return None
    try:
        value = expression.parse(node.text).value({})
    except ValueError:
        return node.text
    return value if isinstance(value, int | float) else node.text


def _units(node: Node, name: str) -> str:
    if isinstance(node, yaml_nodes.YamlMapping):
        return ", ".join(f"{column} {text(entry.node, column)}" for column, entry in node.entries.items())
    return text(node, name)
