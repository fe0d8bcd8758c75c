"""The parts of a claims.yaml: sources, tables and figures, each a mapping whose keys have readers.

A reader takes the value and its key's name, and its errors begin with the value's place.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from harness.claims.expression import COLUMNS, Expression, functions_in, parse
from harness.claims.model import Citation, Figure, Source, Table
from harness.core.errors import UsageError, nearest
from harness.core.units import parse_share
from harness.sweep import written as yaml_nodes
from harness.sweep.written import Listing, Node, Scalar, at, items, scalar

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


def read_expression(node: Node, _: str) -> Expression:
    raw = scalar(node, "an expression")
    with at(raw.where):
        return parse(raw.text)


def share(node: Node, name: str) -> float:
    raw = scalar(node, name)
    with at(raw.where):
        return parse_share(raw.text)


def flag(node: Node, name: str) -> bool:
    raw = scalar(node, name)
    if not isinstance(raw.value, bool):
        raise UsageError(f"{raw.where}: {name} is true or false, not {raw.text}")
    return raw.value


def figures_of(node: Node, name: str) -> tuple[Figure, ...]:
    """The figures of a claim, in order; UsageError for one that mixes its columns or is there twice."""
    figures: dict[str, Figure] = {}
    for item in items(node, name):
        figure = Figure(where=item.where, **fields(item, "a figure", _READERS, required=("name",)))
        _refuse_mixtures(figure)
        if figure.name in figures:
            raise UsageError(f"{figure.where}: two figures of a claim are called {figure.name}")
        figures[figure.name] = figure
    return tuple(figures.values())


def functions_of(figure: Figure) -> frozenset[str]:
    """Every function that any of its expressions depends on."""
    return frozenset().union(*map(functions_in, figure.expressions()))


def _ends(node: Node, name: str) -> tuple[Expression, ...]:
    """The published value of a figure: a number, or both ends of a range."""
    if not isinstance(node, Listing):
        return (read_expression(node, name),)
    if len(node.items) != 2:
        raise UsageError(f"{node.where}: published is a number, or both ends of a range: [50, 800]")
    return tuple(read_expression(item, name) for item in node.items)


_READERS: Mapping[str, Reader] = {
    **dict.fromkeys(("name", "unit", "why"), text),
    **dict.fromkeys(("follows", "found", "at_most", "at_least"), read_expression),
    **dict.fromkeys(("premise", "each"), flag),
    "published": _ends,
    "within": share,
}


def _refuse_mixtures(figure: Figure) -> None:
    """UsageError for a figure whose columns do not fit their names or each other."""
    what = f"{figure.where}: figure {figure.name}"
    if not figure.sides:
        raise UsageError(f"{what} has neither published, follows nor found")
    if figure.bounded and figure.compared:
        raise UsageError(f"{what}: a bound is of one of published, follows and found, not of several")
    if figure.premise and not figure.compared:
        raise UsageError(f"{what}: a premise is compared; give what it has to be and what it is")
    if figure.within and not figure.compared:
        raise UsageError(f"{what}: within is for figures that are compared")
    if figure.within and not figure.why:
        raise UsageError(f"{what}: a tolerance needs its reason (why: …)")
    for column in (*figure.published, figure.follows):
        functions = functions_in(column) - set(COLUMNS) if column else ()
        if functions:
            raise UsageError(
                f"{what}: {min(functions)}(…) is found here, and is neither published nor follows from it"
            )


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
        value = parse(node.text).value({})
    except ValueError:
        return node.text
    return value if isinstance(value, int | float) else node.text


def _units(node: Node, name: str) -> str:
    if isinstance(node, yaml_nodes.YamlMapping):
        return ", ".join(f"{column} {text(entry.node, column)}" for column, entry in node.entries.items())
    return text(node, name)
