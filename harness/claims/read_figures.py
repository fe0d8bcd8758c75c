"""The figures of a claim and the rows of a published table, from their YAML."""

from __future__ import annotations

from collections.abc import Sequence

from harness.claims import expression
from harness.claims.expression import Expression
from harness.claims.functions import COLUMNS, NO_EVIDENCE, functions_in
from harness.claims.model import Citation, Figure, Table
from harness.core.errors import UsageError
from harness.core.units import parse_share
from harness.sweep.yaml import nodes as yaml_nodes
from harness.sweep.yaml.nodes import Listing, Node, Scalar, at, items, scalar

FIGURE_KEYS = (
    "name",
    "unit",
    "published",
    "follows",
    "found",
    "within",
    "why",
    "at_most",
    "at_least",
    "premise",
    "each",
)
CURVES = "curves"  # of a table: which of its columns make a curve of a speedup chart
TABLE_KEYS = ("source", "columns", "rows", "units", CURVES)


def text_of(
    keys: yaml_nodes.YamlMapping, name: str, default: str | None = None, *, what: str = "a claim"
) -> str:
    """The text of a key; UsageError where it is missing and there is no default."""
    if name in keys.entries:
        return scalar(keys.entries[name].node, name).text.strip()
    if default is None:
        raise UsageError(f"{keys.where}: {what} needs {name}")
    return default


def figures_of(keys: yaml_nodes.YamlMapping) -> tuple[Figure, ...]:
    """The figures of a claim, in order; UsageError for one that mixes its columns or is there twice."""
    if "figures" not in keys.entries:
        return ()
    figures: dict[str, Figure] = {}
    for node in items(keys.entries["figures"].node, "figures"):
        figure = _figure(yaml_nodes.table(node, "a figure"))
        if figure.name in figures:
            raise UsageError(f"{figure.where}: two figures of a claim are called {figure.name}")
        figures[figure.name] = figure
    return tuple(figures.values())


def _figure(keys: yaml_nodes.YamlMapping) -> Figure:
    keys.refuse_unknown(FIGURE_KEYS, "of a figure")
    figure = Figure(
        name=text_of(keys, "name", what="a figure"),
        where=keys.where,
        unit=text_of(keys, "unit", ""),
        published=_ends(keys),
        follows=_expression(keys, "follows"),
        found=_expression(keys, "found"),
        within=_share(keys),
        why=text_of(keys, "why", ""),
        at_most=_expression(keys, "at_most"),
        at_least=_expression(keys, "at_least"),
        premise=_flag(keys, "premise"),
        each=_flag(keys, "each"),
    )
    _refuse_mixtures(figure)
    return figure


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
    if figure.decides:
        guesses = {name for expression in figure.expressions() for name in functions_in(expression)} & set(
            NO_EVIDENCE
        )
        if guesses:
            raise UsageError(
                f"{what}: {min(guesses)} is a compiler's guess and evidence of no time; show it alone"
            )


def _ends(keys: yaml_nodes.YamlMapping) -> tuple[Expression, ...]:
    """The published value of a figure: a number, or both ends of a range."""
    if "published" not in keys.entries:
        return ()
    node = keys.entries["published"].node
    ends = tuple(_parse(item) for item in (node.items if isinstance(node, Listing) else (node,)))
    if isinstance(node, Listing) and len(ends) != 2:
        raise UsageError(f"{node.where}: published is a number, or both ends of a range: [50, 800]")
    return ends


def _expression(keys: yaml_nodes.YamlMapping, name: str) -> Expression | None:
    return _parse(keys.entries[name].node) if name in keys.entries else None


def _parse(node: Node) -> Expression:
    raw = scalar(node, "an expression")
    with at(raw.where):
        return expression.parse(raw.text)


def _share(keys: yaml_nodes.YamlMapping) -> float:
    if "within" not in keys.entries:
        return 0.0
    raw = scalar(keys.entries["within"].node, "within")
    with at(raw.where):
        return parse_share(raw.text)


def _flag(keys: yaml_nodes.YamlMapping, name: str) -> bool:
    if name not in keys.entries:
        return False
    raw = scalar(keys.entries[name].node, name)
    if not isinstance(raw.value, bool):
        raise UsageError(f"{raw.where}: {name} is true or false, not {raw.text}")
    return raw.value


def table_of(name: str, mapping: yaml_nodes.YamlMapping, sources: tuple[Citation, ...]) -> Table:
    """The published table; UsageError, with its place, where a row does not fit its columns."""
    mapping.refuse_unknown(TABLE_KEYS, "of a table")
    for key in ("columns", "rows"):
        if key not in mapping.entries:
            raise UsageError(f"{mapping.where}: a table needs {key}")
    columns = tuple(raw.text for raw in yaml_nodes.scalars(mapping.entries["columns"].node, "columns"))
    if len(set(columns)) < len(columns):
        raise UsageError(f"{mapping.entries['columns'].where}: two columns have one name")
    rows = [_row(node, columns) for node in items(mapping.entries["rows"].node, "rows")]
    return Table(
        name,
        sources,
        columns,
        rows=tuple(tuple(_cell(raw) for raw in row) for row in rows),
        written=tuple(tuple(raw.text for raw in row) for row in rows),
        units=_units(mapping),
    )


def _row(node: Node, columns: Sequence[str]) -> tuple[Scalar, ...]:
    if not isinstance(node, Listing) or len(node.items) != len(columns):
        raise UsageError(f"{node.where}: a row has {len(columns)} cells: {', '.join(columns)}")
    return tuple(_single(item) for item in node.items)


def _single(node: Node) -> Scalar:
    if not isinstance(node, Scalar):
        raise UsageError(f"{node.where}: a cell is one value")
    return node


def _cell(node: Scalar) -> float | str | None:
    """A cell's number; None for an empty cell; a word such as OOM unchanged."""
    if node.value is None or isinstance(node.value, bool):
        return None
    try:
        value = expression.parse(node.text).value({})
    except ValueError:
        return node.text
    return value if isinstance(value, int | float) else node.text


def _units(mapping: yaml_nodes.YamlMapping) -> str:
    if "units" not in mapping.entries:
        return "ms"
    node = mapping.entries["units"].node
    if isinstance(node, yaml_nodes.YamlMapping):
        units = [f"{name} {scalar(e.node, name).text}" for name, e in node.entries.items()]
        return ", ".join(units)
    return scalar(node, "units").text
