"""The published curves of a family: the tables of its claims.yaml that say which columns are a speedup."""

from harness.catalog.catalog import Catalog, FamilyInfo
from harness.claims.model import Table
from harness.claims.read_yaml import tables_of
from harness.claims.yaml_fields import fields
from harness.core.errors import UsageError, nearest
from harness.core.workload import MODES
from harness.report.charts.model import PublishedCurve
from harness.sweep.yaml.nodes import Node, at, scalar, scalars

CURVE_KEYS = ("impl", "over", "mode", "times", "hardware")


def published_curves(family: FamilyInfo, catalog: Catalog) -> tuple[PublishedCurve, ...]:
    """The curves of a family's claims.yaml, in its order; none without that file.

    UsageError: `claims.yaml:LINE: …` for a curve of an implementation or a column that is not there.
    """
    return tuple(
        _curve(item, table, family.name, catalog) for table in tables_of(family) for item in table.curves
    )


def _curve(node: Node, table: Table, family: str, catalog: Catalog) -> PublishedCurve:
    """A curve: `{impl: nsa_mslk, over: dense, mode: fwd, times: [n, dense, nsa], hardware: GB200}`.

    `times` names the columns of the length, the baseline's time and the implementation's.
    """
    given = fields(node, "a curve", {**dict.fromkeys(CURVE_KEYS, scalar), "times": scalars}, CURVE_KEYS)
    for key in ("impl", "over"):
        with at(given[key].where):
            catalog.implementation(given[key].text, family)
    if given["mode"].text not in MODES:
        raise UsageError(f"{given['mode'].where}: mode is one of {', '.join(MODES)}")
    columns = given["times"]
    if len(columns) != 3:
        raise UsageError(f"{node.where}: times are three columns: length, baseline, implementation")
    for column in columns:
        if column.text not in table.columns:
            hint = nearest(column.text, table.columns)
            raise UsageError(f'{column.where}: table {table.id} has no column "{column.text}"{hint}')
    length, baseline, implementation = (column.text for column in columns)
    rows = [table.numbers(row) for row in table.rows]
    document = table.sources[0].source
    return PublishedCurve(
        implementation=f"{family}/{given['impl'].text}",
        baseline=f"{family}/{given['over'].text}",
        mode=given["mode"].text,
        source=f"{document.of or document.title}, {given['hardware'].text}",
        points=tuple(
            (int(row[length]), row[baseline] / row[implementation])
            for row in rows
            if {length, baseline, implementation} <= row.keys()
        ),
    )
