"""A suite as tables of text: the cells and their footnotes, independent of a terminal."""

from collections.abc import Sequence

from harness.analysis.stats import ROUNDS
from harness.analysis.suite_results import CaseResult, SuiteResults
from harness.core.units import format_count
from harness.core.workload import canonical
from harness.report.tables.suite_columns import CONTRACT, NAMES, STATIC, STATUS, timed_columns
from harness.report.tables.summary import summary_table
from harness.report.tables.table_data import Entry, TableData

EXPONENTS = "; of exponents: 95 % over the lengths."


def suite_tables(suite: SuiteResults, requested: Sequence[str] = ()) -> list[tuple[TableData, TableData]]:
    """Per panel: the cases on the host, and how their figures grow.

    The columns `requested` by name are preferred where the terminal is narrow.
    """
    return [(suite_table(panel, requested), summary_table(panel)) for panel in suite.panels.values()]


def suite_table(panel: SuiteResults, requested: Sequence[str] = ()) -> TableData:
    """The cases of one panel: lengths in order, at each the implementations in the suite's order."""
    rows = panel.cases
    entries = [
        (column, write)
        for column, write in _entries(rows, panel.layers_of(rows[0].case), requested)
        if panel.baseline or not column.relative
    ]
    sample = rows[0].record
    return TableData(
        title=f"{heading(panel)}, {sample.mode} on {sample.device}",
        columns=tuple(column for column, _ in entries),
        rows=tuple(tuple(write(row) for _, write in entries) for row in rows),
        breaks=breaks(rows),
        caption=_caption(rows),
    )


def breaks(rows: Sequence[CaseResult]) -> tuple[int, ...]:
    """The rows that begin a new length."""
    return tuple(i for i in range(1, len(rows)) if rows[i].seq != rows[i - 1].seq)


def _entries(rows: Sequence[CaseResult], layers: int | None, requested: Sequence[str]) -> tuple[Entry, ...]:
    if any(row.time.value is not None for row in rows):
        return timed_columns(rows, layers, requested)
    has_contracts = any(record.correctness is not None for row in rows for record in row.records)
    compiled = any(row.static is not None for row in rows)
    return (*NAMES, *((CONTRACT,) if has_contracts else ()), *(STATIC.values() if compiled else ()), STATUS)


def heading(panel: SuiteResults) -> str:
    """The fields that a panel holds fixed, behind its models: `mask: batch=1 dtype=f32 rows=128 topk=2Ki`."""
    models = "; ".join(model.label for model in panel.models_here)
    return ": ".join(filter(None, (suite_name(panel), models, " ".join(fixed_fields(panel)))))


def suite_name(panel: SuiteResults) -> str:
    """The suite, with its family where that has another name: `mla_bwd (mla)`."""
    return panel.name if panel.name == panel.family else f"{panel.name} ({panel.family})"


def fixed_fields(panel: SuiteResults) -> list[str]:
    """`batch=1`, `rows=128`: the workload but for its length."""
    return [
        f"{name}={format_count(value) if type(value) is int else canonical(value)}"
        for name, value in sorted(panel.records[0].workload.items())
        if name != "seq"
    ]


def _caption(rows: Sequence[CaseResult]) -> str:
    """What the intervals are over, for the times and the speedups shown."""
    bounded = [row.time for row in rows if row.time.low is not None]
    if not bounded:
        return "No time has an interval." if any(row.time.value is not None for row in rows) else ""
    labels = " and ".join(dict.fromkeys(time.label for time in bounded))
    verdict = "for display, not a verdict" if any(t.unit == ROUNDS for t in bounded) else "Student's t"
    return f"[low, high]: 95 %, {labels} ({verdict}){EXPONENTS}"
