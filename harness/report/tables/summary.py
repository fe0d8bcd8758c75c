"""How a panel's figures grow with the length, and from where on each implementation wins."""

from harness.analysis.results import HOST
from harness.analysis.scaling import Crossover, Scaling
from harness.analysis.suite_results import SuiteResults
from harness.report import format as fmt
from harness.report.answer import describe_briefly
from harness.report.finding import finding_of
from harness.report.format import ABSENT
from harness.report.tables.cells import Cell, name_cell, sentences
from harness.report.tables.table_data import Column, TableData


def summary_table(panel: SuiteResults) -> TableData:
    """One line per implementation: exponents of the length, and from where on it wins.

    Without rows where the panel has one length only: nothing grows there. Bytes accessed are left to
    tables without times.
    """
    timed = any(row.time.value is not None for row in panel.cases)
    compiled = any(row.static is not None for row in panel.cases)
    exponents = (
        ("time", Column("time ∝ seq^", right=False), timed),
        ("temp_bytes", Column("temp ∝ seq^", rank=2, right=False), compiled),
        ("flops", Column("FLOPs ∝ seq^", rank=3, right=False), compiled),
        ("bytes_accessed", Column("bytes ∝ seq^", rank=4, right=False), compiled and not timed),
    )
    shown = {metric: column for metric, column, relevant in exponents if relevant}
    fitted = {
        (scaling.implementation, scaling.metric): scaling
        for scaling in panel.scalings
        if scaling.target == HOST or scaling.metric == "time"
    }
    grows = len({row.seq for row in panel.cases}) > 1 and bool(shown)
    labels = [label for label in panel.implementations if (label, "time") in fitted] if grows else []
    columns = [Column("", right=False, folds=True), *shown.values()]
    lines = [
        [name_cell(label, panel.bounds), *(exponent_cell(fitted[label, metric]) for metric in shown)]
        for label in labels
    ]
    if timed and panel.baseline:
        columns.append(Column("faster", right=False))
        crossed = {crossover.implementation: crossover for crossover in panel.crossovers}
        for label, line in zip(labels, lines, strict=True):
            line.append(_faster(panel, label, crossed.get(label)))
    return TableData(title="", columns=tuple(columns), rows=tuple(map(tuple, lines)))


def exponent_cell(scaling: Scaling) -> Cell:
    """`0.98 [0.95, 1.01]`, or why there is none."""
    if scaling.exponent is None:
        return Cell(ABSENT, sentences(scaling.reason))
    text = fmt.exponent(scaling.exponent, scaling.low, scaling.high)
    return Cell(text, sentences(scaling.reason, *scaling.notes))


def _faster(panel: SuiteResults, label: str, crossover: Crossover | None) -> Cell:
    """Where it is faster than the baseline, with the crossing where intervals exclude 1 on both its sides."""
    if crossover is None:
        return Cell("baseline" if label == panel.baseline else ABSENT, style="dim")
    finding = finding_of(panel, label)
    text = describe_briefly(finding, crossover.interpolated) if finding else ABSENT
    return Cell(text, sentences(crossover.reason))
