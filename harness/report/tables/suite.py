"""The tables of a suite, independent of a terminal: its cases by column, and exponents of the length."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from harness.analysis.results import HOST
from harness.analysis.scaling import Scaling
from harness.analysis.stats import ROUNDS
from harness.analysis.suite_results import CaseResult, SuiteResults
from harness.analysis.throughput import WORK
from harness.core.errors import UsageError, closest
from harness.core.units import format_count
from harness.core.workload import canonical
from harness.report import format as fmt
from harness.report.format import ABSENT, PREFIXES
from harness.report.tables import cells
from harness.report.tables.cells import Cell, name_cell, sentences
from harness.report.tables.table_data import Column, Entry, TableData

NAMES: tuple[Entry, ...] = (
    (Column("seq"), cells.seq),
    (Column("implementation", right=False, folds=True), cells.implementation),
)
CONTRACT: Entry = (Column("contract", rank=1, right=False, folds=True), cells.contract)
STATUS: Entry = (Column("status", right=False, folds=True), cells.status)

_TIMES: Mapping[str, Entry] = {
    "time": (Column("time"), cells.time),
    "95 %": (Column("95 %", rank=5), cells.interval),
    "speedup": (Column("speedup", right=False, relative=True), cells.speedup),
}
STATIC: Mapping[str, Entry] = {
    "temp": (Column("temp", rank=2), cells.temp),
    "peak": (Column("peak", rank=8), cells.peak),
    "FLOPs": (Column("FLOPs", rank=6), cells.flops),
}
_ON_REQUEST: Mapping[str, Entry] = {
    "temp/base": (Column("temp/base", relative=True), cells.temp_ratio),
    "bytes/base": (Column("bytes/base", relative=True), cells.bytes_ratio),
    "FLOPs/base": (Column("FLOPs/base", relative=True), cells.flops_ratio),
    "operations": (Column("operations", right=False, folds=True), cells.operations),
}
RATES = (
    "FLOP/s, B/s: work by the family's formula, divided by the median time. Masked and skipped pairs do not "
    "count; dense FLOP/s counts the work of the dense form."
)
_RATES = {"FLOP/s": ("flops", 1), "B/s": ("bytes", 3), "dense FLOP/s": ("dense_flops", 7)}  # work, rank

ROOF = "roof"
CHOICES = (*_TIMES, *_RATES, *STATIC, "status", ROOF, *_ON_REQUEST)
EXPONENTS = "; for exponents: 95 % over the lengths."


def check_columns(names: Sequence[str]) -> None:
    """Raise UsageError for a name that is not a column of a table of times."""
    for name in names:
        if name not in CHOICES:
            raise UsageError(
                f'--columns: unknown column "{name}"{closest(name, CHOICES)}; known: {", ".join(CHOICES)}'
            )


def timed_columns(
    rows: Sequence[CaseResult], layers: int | None, requested: Sequence[str] = ()
) -> tuple[Entry, ...]:
    """The columns of timed cases; those `requested` by name have priority on a narrow terminal."""
    saved = Column(f"saved × {layers} layers", rank=1, right=False, relative=True)
    on_gpu = any(row.record.device == "cuda" for row in rows)
    entries = {
        **_TIMES,
        **(_bounds(rows) if on_gpu or ROOF in requested else {}),
        **({"saved": (saved, cells.per_step)} if layers else {}),
        **dict(_rates(rows)),
        **(STATIC if any(row.static for row in rows) else {}),
        "status": (replace(STATUS[0], rank=9), STATUS[1]),
        **{name: entry for name, entry in _ON_REQUEST.items() if name in requested},
    }
    ranked = (
        (replace(column, rank=_rank(column, requested=name in requested)), write)
        for name, (column, write) in entries.items()
    )
    return (*NAMES, *ranked)


def _rank(column: Column, *, requested: bool) -> int:
    """The column's rank, after requested columns; the essential columns always stay."""
    essential = not column.rank and column.title in {*_TIMES, "of bound"}
    return 0 if essential else 1 if requested else column.rank + 1


def _bounds(rows: Sequence[CaseResult]) -> dict[str, Entry]:
    """The columns of the bound, with a caption on its ceilings."""
    known = dict.fromkeys(row.roof.ceilings for row in rows if row.roof and row.roof.ceilings)
    caption = (
        "bound: the least time of a call: the longer of its FLOPs and its bytes, by the family's formula, "
        f"over their ceilings ({' and '.join(known)}). of bound: bound over time, and what limits."
    )
    return {
        ROOF: (Column("of bound", right=False, caption=caption if known else ""), cells.roof),
        "bound": (Column("bound", rank=4), cells.bound),
    }


def _rates(rows: Sequence[CaseResult]) -> Iterator[tuple[str, Entry]]:
    """The columns of the known rates, in the unit that suits the median value."""
    for name, (work, rank) in _RATES.items():
        rates = [row.throughput[work] for row in rows]
        known = [rate.rate.value for rate in rates if rate.rate.value is not None]
        if known:
            middle = statistics.median(known)
            scale, prefix = next((entry for entry in PREFIXES if middle >= entry[0]), (1.0, ""))
            dense, unit = name.removesuffix(WORK[work]), f"{prefix}{WORK[work]}"
            column = Column(f"{dense}{unit}", rank=rank, caption=RATES)
            yield name, (column, partial(cells.rate, work=work, scale=scale))


def suite_tables(suite: SuiteResults, requested: Sequence[str] = ()) -> list[tuple[TableData, TableData]]:
    """The tables of each panel: the cases on the host, and exponents of the length.

    Columns `requested` by name have priority on a narrow terminal.
    """
    return [(suite_table(panel, requested), summary_table(panel)) for panel in suite.panels.values()]


def suite_table(panel: SuiteResults, requested: Sequence[str] = ()) -> TableData:
    """The cases of one panel, by length, then in the suite's order of implementations."""
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
    """The rows that start a new length."""
    return tuple(i for i in range(1, len(rows)) if rows[i].seq != rows[i - 1].seq)


def _entries(rows: Sequence[CaseResult], layers: int | None, requested: Sequence[str]) -> tuple[Entry, ...]:
    if any(row.time.value is not None for row in rows):
        return timed_columns(rows, layers, requested)
    has_contracts = any(record.correctness is not None for row in rows for record in row.records)
    compiled = any(row.static is not None for row in rows)
    return (*NAMES, *((CONTRACT,) if has_contracts else ()), *(STATIC.values() if compiled else ()), STATUS)


def heading(panel: SuiteResults) -> str:
    """The suite, its models and the panel's fixed fields: `mask: batch=1 dtype=f32 rows=128 topk=2Ki`."""
    models = "; ".join(model.label for model in panel.models_here)
    return ": ".join(filter(None, (suite_name(panel), models, " ".join(fixed_fields(panel)))))


def suite_name(panel: SuiteResults) -> str:
    """The suite, with its family if the names differ: `mla_bwd (mla)`."""
    return panel.name if panel.name == panel.family else f"{panel.name} ({panel.family})"


def fixed_fields(panel: SuiteResults) -> list[str]:
    """`batch=1`, `rows=128`: the workload without its length."""
    return [
        f"{name}={format_count(value) if type(value) is int else canonical(value)}"
        for name, value in sorted(panel.records[0].workload.items())
        if name != "seq"
    ]


def _caption(rows: Sequence[CaseResult]) -> str:
    """The caption on the sampling unit of the intervals of times and speedups."""
    bounded = [row.time for row in rows if row.time.low is not None]
    if not bounded:
        return "No time has an interval." if any(row.time.value is not None for row in rows) else ""
    labels = " and ".join(dict.fromkeys(time.label for time in bounded))
    verdict = "for display, not a verdict" if any(t.unit == ROUNDS for t in bounded) else "Student's t"
    return f"[low, high]: 95 % interval {labels} ({verdict}){EXPONENTS}"


def summary_table(panel: SuiteResults) -> TableData:
    """One line per implementation: exponents of the length.

    No rows if the panel has only one length. Only tables without times have bytes accessed.
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
    rows = tuple(
        (name_cell(label, panel.bounds), *(exponent_cell(fitted[label, metric]) for metric in shown))
        for label in labels
    )
    return TableData("", (Column("", right=False, folds=True), *shown.values()), rows)


def exponent_cell(scaling: Scaling) -> Cell:
    """`0.98 [0.95, 1.01]`, or a dash with the reason."""
    if scaling.exponent is None:
        return Cell(ABSENT, sentences(scaling.reason))
    text = fmt.exponent(scaling.exponent, scaling.low, scaling.high)
    return Cell(text, sentences(scaling.reason, *scaling.notes))
