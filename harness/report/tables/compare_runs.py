"""Two sides beside each other, as tables: a panel each, one line per length and implementation."""

from collections.abc import Sequence

from harness.analysis.compare_runs import Change
from harness.core.units import format_count
from harness.report import format as fmt
from harness.report.footnotes import Footnotes
from harness.report.format import short_label
from harness.report.tables.cells import ABSENT, Cell
from harness.report.tables.table_data import Column, TableData

COLUMNS = (
    Column("seq"),
    Column("implementation", right=False, folds=True),
    Column("time, of the other side's", right=False),
    Column("faster", rank=1, right=False),
)


def sides_tables(changes: Sequence[Change]) -> list[TableData]:
    """`changes` grouped by panel; footnotes count within a panel."""
    panels = dict.fromkeys(change.panel for change in changes)
    return [_table(panel, [change for change in changes if change.panel == panel]) for panel in panels]


def _table(panel: str, changes: Sequence[Change]) -> TableData:
    notes = Footnotes()
    rows = tuple((*_name_cells(change), *_ratio_cells(change, notes)) for change in changes)
    family = changes[0].case.split("/", 1)[0]
    return TableData(f"{family}: {panel}", COLUMNS, rows, tuple(notes.since(0)))


def _name_cells(change: Change) -> tuple[Cell, Cell]:
    name = short_label(change.of)
    if change.of != change.to:
        name = f"{name} / {short_label(change.to)}"
    return Cell(format_count(change.seq)), Cell(name)


def _ratio_cells(change: Change, notes: Footnotes) -> tuple[Cell, Cell]:
    if change.ratio is None:
        return Cell(ABSENT, notes.mark(change.reason)), Cell("")
    text = fmt.speedup(change.ratio, change.low, change.high)
    why = f"no interval: {change.reason}" if change.low is None else None
    return Cell(text, notes.mark(why, *change.warnings)), Cell(_side(change))


def _side(change: Change) -> str:
    """The faster implementation, where the interval excludes 1; of two runs neither wins."""
    if change.of == change.to or change.low is None or change.high is None:
        return ""
    if change.low <= 1 <= change.high:
        return ""
    return short_label(change.of if change.high < 1 else change.to)
