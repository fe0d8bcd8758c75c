"""The history of a case as a table: a line per run, and per verdict of a gate, by time."""

from harness.analysis.history import CaseHistory, GateVerdict, RunMedian
from harness.core.grouped import collected
from harness.core.quick_run import QUICK, QUICK_NOTE
from harness.report import format as fmt
from harness.report.tables.cells import ABSENT, Cell, sentences
from harness.report.tables.table_data import Column, TableData

DIRTY = "+: with uncommitted changes."
COLUMNS = (
    Column("run", right=False),
    Column("started, UTC", rank=3, right=False),
    Column("commit", rank=2, right=False, caption=DIRTY),
    Column("time"),
    Column("95 %", rank=1),
    Column("of the time before", right=False),
    Column("", right=False, folds=True),
)


def history_table(history: CaseHistory) -> TableData:
    """A line per run on the machine, the oldest first; the times of a ratio were not measured together."""
    entries = sorted([(m.run, _median_cells(m)) for m in history.medians])
    entries += [(verdict.gate, _verdict_cells(verdict)) for verdict in history.verdicts]
    rows = tuple(cells for _, cells in sorted(entries, key=lambda entry: entry[0]))
    return TableData(history.case, COLUMNS, rows)


def history_lines(history: CaseHistory) -> list[str]:
    """Lines on the runs that are noisy, and on those of other machines, grouped by what differs."""
    whys = [(QUICK_NOTE, median.run) for median in history.medians if median.quick]
    whys += [(f"left out, of another fingerprint: {why}", run) for run, why in history.left_out.items()]
    runs = collected(whys)
    return [f"{len(ids)} run{'s' * (len(ids) > 1)}, {ids[-1]}: {why}" for why, ids in runs.items()]


def _median_cells(median: RunMedian) -> tuple[Cell, ...]:
    time, ratio = median.time, median.ratio
    status = " ".join([median.status] * (median.status != "ok") + [QUICK] * median.quick)
    heads = (Cell(median.run), Cell(fmt.minute(median.started)), Cell(median.commit or ABSENT))
    if time.value is None:
        return (*heads, Cell(ABSENT), Cell(ABSENT), Cell(ABSENT), Cell(status, sentences(median.reason)))
    text, bounds = fmt.seconds(time.value, time.low, time.high)
    change = ABSENT if ratio.value is None else fmt.speedup(ratio.value, ratio.low, ratio.high)
    why = sentences(f"no interval: {time.reason}" if time.low is None else None, *time.warnings)
    return (*heads, Cell(text, why), Cell(bounds), Cell(change), Cell(status))


def _verdict_cells(verdict: GateVerdict) -> tuple[Cell, ...]:
    words = " ".join(filter(None, ("gate:", verdict.verdict, verdict.figures)))
    return Cell(verdict.gate), Cell(fmt.minute(verdict.started)), *(Cell(""),) * 4, Cell(words)
