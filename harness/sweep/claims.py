"""A family's claims.yaml as data; whatever it names must exist."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.catalog.catalog import Catalog, FamilyInfo
from harness.spec import expression
from harness.spec.claim import NOT_CHECKABLE, VERDICTS, Claim, Figure, Table
from harness.spec.errors import UsageError, nearest
from harness.spec.expression import Expression
from harness.spec.units import parse_share
from harness.spec.workload import Value
from harness.sweep import nodes
from harness.sweep.axes import parse
from harness.sweep.needs import needs, refuse_target
from harness.sweep.nodes import Listing, Node, Scalar, at, items, scalar
from harness.sweep.yaml_lines import read

FILE = "claims.yaml"
CLAIM_KEYS = (
    "id",
    "says",
    "source",
    "version",
    "hardware",
    "target",
    "shape",
    "table",
    "figures",
    "because",
    "not_checkable",
    "expect",
)
FIGURE_KEYS = (
    "name",
    "unit",
    "theirs",
    "ours",
    "within",
    "implied",
    "at_most",
    "at_least",
    "wrong",
    "each",
)
TABLE_KEYS = ("columns", "rows", "units")


def claims_of(family: FamilyInfo, catalog: Catalog) -> tuple[Claim, ...]:
    """The claims that lie beside a family's own file, in the order written; none without a file.

    UsageError: `claims.yaml:LINE: …` for anything unknown, twice there, missing or not to be understood.
    """
    path = Path(family.file).with_name(FILE)
    return load(path, family, catalog) if path.is_file() else ()


def load(path: Path, family: FamilyInfo, catalog: Catalog) -> tuple[Claim, ...]:
    root = nodes.table(read(path), path.name)
    root.refuse_unknown(["claims"], "at the top level")
    if "claims" not in root.entries:
        raise UsageError(f"{root.where}: the file has no claims")
    found: dict[str, Claim] = {}
    for node in items(root.entries["claims"].node, "claims"):
        claim = _claim(node, family)
        if claim.id in found:
            raise UsageError(
                f"{claim.where}: duplicate id {claim.id}; it stands in {found[claim.id].where} too"
            )
        needs(claim, catalog)  # for its errors
        found[claim.id] = claim
    return tuple(found.values())


def _claim(node: Node, family: FamilyInfo) -> Claim:
    keys = nodes.table(node, "a claim")
    keys.refuse_unknown(CLAIM_KEYS, "of a claim")
    shape, given = _shape(keys, family)
    claim = Claim(
        family=family.name,
        id=_text(keys, "id"),
        where=keys.where,
        says=_text(keys, "says"),
        source=_text(keys, "source"),
        version=_text(keys, "version"),
        hardware=_text(keys, "hardware"),
        expect=_text(keys, "expect"),
        shape=shape,
        given=given,
        figures=_figures(keys),
        table=_table(keys),
        target=_text(keys, "target", "") or None,
        because=_text(keys, "because", ""),
        not_checkable=_text(keys, "not_checkable", ""),
    )
    _refuse_odd(claim, keys)
    return claim


def _refuse_odd(claim: Claim, keys: nodes.Table) -> None:
    """UsageError for keys that contradict each other."""
    if claim.expect not in VERDICTS:
        where = keys.entries["expect"].where
        raise UsageError(f'{where}: unknown verdict "{claim.expect}"{nearest(claim.expect, VERDICTS)}')
    if claim.target:
        with at(keys.entries["target"].where):
            refuse_target(claim.target)
    deciding = [figure for figure in claim.figures if figure.decides]
    if not deciding and not claim.not_checkable:
        raise UsageError(
            f"{claim.where}: {claim.id} has no figure that decides; "
            "add one with theirs and ours, or with a bound, or not_checkable: why"
        )
    if claim.expect != NOT_CHECKABLE and not deciding:
        where = keys.entries["expect"].where
        raise UsageError(f"{where}: without a figure that decides the verdict is {NOT_CHECKABLE}")
    for figure in claim.figures:
        if figure.each and claim.table is None:
            raise UsageError(f"{figure.where}: each row of what? The claim has no table")


def _text(keys: nodes.Table, name: str, default: str | None = None) -> str:
    if name in keys.entries:
        return scalar(keys.entries[name].node, name).text.strip()
    if default is None:
        raise UsageError(f"{keys.where}: a claim needs {name}")
    return default


def _shape(keys: nodes.Table, family: FamilyInfo) -> tuple[dict[str, Value], tuple[str, ...]]:
    """The family's workload, with the claim's values over its defaults, and the fields that it writes."""
    shape = {field.name: field.default for field in family.fields if not field.required}
    if "shape" not in keys.entries:
        return shape, ()
    written = nodes.table(keys.entries["shape"].node, "shape")
    for name, entry in written.entries.items():
        with at(entry.where):
            field = family.field(name)
        shape[name] = parse(field, scalar(entry.node, name))
    return shape, tuple(written.entries)


def _figures(keys: nodes.Table) -> tuple[Figure, ...]:
    if "figures" not in keys.entries:
        return ()
    found: dict[str, Figure] = {}
    for node in items(keys.entries["figures"].node, "figures"):
        figure = _figure(nodes.table(node, "a figure"))
        if figure.name in found:
            raise UsageError(f"{figure.where}: two figures of a claim are called {figure.name}")
        found[figure.name] = figure
    return tuple(found.values())


def _figure(keys: nodes.Table) -> Figure:
    keys.refuse_unknown(FIGURE_KEYS, "of a figure")
    theirs = _ends(keys)
    figure = Figure(
        name=_text(keys, "name"),
        where=keys.where,
        unit=_text(keys, "unit", ""),
        theirs=theirs[0] if theirs else None,
        upto=theirs[1] if len(theirs) > 1 else None,
        ours=_expression(keys, "ours"),
        within=_share(keys),
        implied=_expression(keys, "implied"),
        at_most=_expression(keys, "at_most"),
        at_least=_expression(keys, "at_least"),
        wrong=_flag(keys, "wrong"),
        each=_flag(keys, "each"),
    )
    bounds = figure.at_most is not None or figure.at_least is not None
    if figure.bounded != bounds or (bounds and (theirs or figure.ours)):
        raise UsageError(f"{figure.where}: a bounded figure has implied, and at_most or at_least, alone")
    if not figure.expressions():
        raise UsageError(f"{figure.where}: figure {figure.name} has neither theirs nor ours")
    if not figure.decides and (figure.wrong or figure.each):
        raise UsageError(
            f"{figure.where}: figure {figure.name} is only shown; wrong and each take theirs and ours"
        )
    return figure


def _ends(keys: nodes.Table) -> list[Expression]:
    """What a figure has published: a number, or both ends of a range."""
    if "theirs" not in keys.entries:
        return []
    node = keys.entries["theirs"].node
    found = [_parsed(item) for item in (node.items if isinstance(node, Listing) else (node,))]
    if isinstance(node, Listing) and len(found) != 2:
        raise UsageError(f"{node.where}: theirs is a number, or both ends of a range: [50, 800]")
    return found


def _expression(keys: nodes.Table, name: str) -> Expression | None:
    return _parsed(keys.entries[name].node) if name in keys.entries else None


def _parsed(node: Node) -> Expression:
    raw = scalar(node, "an expression")
    with at(raw.where):
        return expression.parse(raw.text)


def _share(keys: nodes.Table) -> float:
    if "within" not in keys.entries:
        return 0.0
    raw = scalar(keys.entries["within"].node, "within")
    with at(raw.where):
        return parse_share(raw.text)


def _flag(keys: nodes.Table, name: str) -> bool:
    if name not in keys.entries:
        return False
    raw = scalar(keys.entries[name].node, name)
    if not isinstance(raw.value, bool):
        raise UsageError(f"{raw.where}: {name} is true or false, not {raw.text}")
    return raw.value


def _table(keys: nodes.Table) -> Table | None:
    if "table" not in keys.entries:
        return None
    written = nodes.table(keys.entries["table"].node, "table")
    written.refuse_unknown(TABLE_KEYS, "of a table")
    for name in TABLE_KEYS[:2]:
        if name not in written.entries:
            raise UsageError(f"{written.where}: a table needs {name}")
    columns = tuple(raw.text for raw in nodes.scalars(written.entries["columns"].node, "columns"))
    if len(set(columns)) < len(columns):
        raise UsageError(f"{written.entries['columns'].where}: two columns have one name")
    rows = [_row(node, columns) for node in items(written.entries["rows"].node, "rows")]
    return Table(
        columns,
        rows=tuple(tuple(_cell(raw) for raw in row) for row in rows),
        written=tuple(tuple(raw.text for raw in row) for row in rows),
        units=_units(written),
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
    """A number; None where nothing stands; a word such as OOM as it is."""
    if node.value is None or isinstance(node.value, bool):
        return None
    try:
        value = expression.parse(node.text).value({})
    except ValueError:
        return node.text
    return value if isinstance(value, int | float) else node.text


def _units(written: nodes.Table) -> str:
    if "units" not in written.entries:
        return "ms"
    node = written.entries["units"].node
    if isinstance(node, nodes.Table):
        each = [f"{name} {scalar(e.node, name).text}" for name, e in node.entries.items()]
        return ", ".join(each)
    return scalar(node, "units").text
