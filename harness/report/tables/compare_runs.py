"""Two sides beside each other, as tables: a panel each, one line per length and implementation."""

from collections.abc import Sequence

from harness.analysis.compare_runs import Change
from harness.analysis.stats import Estimate
from harness.core.units import format_count
from harness.report import format as fmt
from harness.report.format import short_label
from harness.report.tables.cells import ABSENT, Cell, sentences
from harness.report.tables.table_data import Column, TableData


def sides_tables(changes: Sequence[Change], of: str, to: str) -> list[TableData]:
    """`changes` grouped by panel, the sides called `of` and `to`."""
    columns = (
        Column("seq"),
        Column("implementation", right=False, folds=True),
        Column(to, right=False, rank=1),
        Column(of, right=False, rank=1),
        Column(f"time, {of} / {to}", right=False),
        Column(f"{of} is", right=False),
    )
    panels = dict.fromkeys(change.panel for change in changes)
    return [_table(panel, columns, [c for c in changes if c.panel == panel]) for panel in panels]


def _table(panel: str, columns: tuple[Column, ...], changes: Sequence[Change]) -> TableData:
    rows = tuple((*_case_cells(change), *_ratio_cells(change)) for change in changes)
    family = changes[0].case.split("/", 1)[0]
    return TableData(f"{family}: {panel}", columns, rows)


def _case_cells(change: Change) -> tuple[Cell, ...]:
    name = short_label(change.of)
    if change.of != change.to:
        name = f"{name} / {short_label(change.to)}"
    return Cell(format_count(change.seq)), Cell(name), _time_cell(change.to_time), _time_cell(change.of_time)


def _time_cell(time: Estimate) -> Cell:
    """`1.42 ms [1.40, 1.45]`."""
    if time.value is None:
        return Cell(ABSENT)
    text, interval = fmt.seconds(time.value, time.low, time.high)
    return Cell(text if interval == ABSENT else f"{text} {interval}")


def _ratio_cells(change: Change) -> tuple[Cell, Cell]:
    if change.ratio is None:
        return Cell(ABSENT, sentences(change.reason)), Cell("")
    text = fmt.speedup(change.ratio, change.low, change.high)
    why = f"no interval: {change.reason}" if change.low is None else None
    return Cell(text, sentences(why, *change.warnings)), Cell(change.reading)
