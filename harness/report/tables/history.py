"""The history of a case as a table: a line per run, by time."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from harness.analysis.history import CaseHistory, RunMedian
from harness.core.grouped import collected
from harness.core.quick_run import QUICK, QUICK_NOTE
from harness.report import format as fmt
from harness.report.tables.cells import ABSENT, Cell, sentences
from harness.report.tables.render import print_tables
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


def print_histories(console: Console, histories: Sequence[CaseHistory], heading: str) -> None:
    """Print a table per case, under a heading that says how far its times can be compared.

    Below it the runs that are noisy, and those of other machines by what differs.
    """
    console.print(Text(heading, style="bold"), soft_wrap=True)
    for history in histories:
        rows = tuple(_cells(median) for median in history.medians)
        print_tables(console, TableData(history.case, COLUMNS, rows))
        whys = [(QUICK_NOTE, median.run) for median in history.medians if median.quick]
        whys += [(f"left out, of another fingerprint: {why}", run) for run, why in history.left_out.items()]
        for why, ids in collected(whys).items():
            console.print(Text(f"{len(ids)} run{'s' * (len(ids) > 1)}, {ids[-1]}: {why}"))


def _cells(median: RunMedian) -> tuple[Cell, ...]:
    time, ratio = median.time, median.ratio
    status = " ".join([median.status] * (median.status != "ok") + [QUICK] * median.quick)
    heads = (Cell(median.run), Cell(fmt.minute(median.started)), Cell(median.commit or ABSENT))
    if time.value is None:
        return (*heads, Cell(ABSENT), Cell(ABSENT), Cell(ABSENT), Cell(status, sentences(median.reason)))
    text, bounds = fmt.seconds(time.value, time.low, time.high)
    change = ABSENT if ratio.value is None else fmt.speedup(ratio.value, ratio.low, ratio.high)
    why = sentences(f"no interval: {time.reason}" if time.low is None else None, *time.warnings)
    return (*heads, Cell(text, why), Cell(bounds), Cell(change), Cell(status))
