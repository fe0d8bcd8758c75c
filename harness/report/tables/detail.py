"""The table of all further static figures of one target, too many for targets side by side."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from harness.analysis.results import HOST
from harness.analysis.suite_results import CaseResult, SuiteResults
from harness.core.metric import FLOPS, Metric
from harness.core.units import format_bytes, format_seconds
from harness.report import format as fmt
from harness.report.tables import cells
from harness.report.tables.cells import Cell
from harness.report.tables.suite import NAMES, breaks, heading
from harness.report.tables.table_data import Column, TableData, Write

_BYTES = Metric("bytes", format_bytes)
_SECONDS = Metric("seconds", format_seconds)
_COMPILER_SECONDS = Metric("seconds", partial(format_seconds, digits=2))


def _figure(name: str, metric: Metric) -> Write:
    return partial(cells.figure, name=name, metric=metric)


def _calls(row: CaseResult) -> Cell:
    return Cell(", ".join(row.static.custom_calls) if row.static else "")


def _analytic(row: CaseResult, name: str, metric: Metric) -> Cell:
    return Cell(fmt.exact_figure(getattr(row.record.cost, name), metric))


_COLUMNS: tuple[tuple[Column, Write], ...] = (
    *NAMES,
    (Column("planned", rank=1), _figure("planned_bytes", _BYTES)),
    (Column("arguments", rank=5), _figure("argument_bytes", _BYTES)),
    (Column("outputs", rank=6), _figure("output_bytes", _BYTES)),
    (Column("aliases", rank=10), _figure("alias_bytes", _BYTES)),
    (Column("peak", rank=4), _figure("peak_bytes", _BYTES)),
    (Column("code", rank=9), _figure("generated_code_bytes", _BYTES)),
    (Column("bytes accessed", rank=2), _figure("bytes_accessed", _BYTES)),
    (Column("optimal", rank=3), _figure("optimal_s", _SECONDS)),
    (Column("FLOPs by formula", rank=7), partial(_analytic, name="flops", metric=FLOPS)),
    (Column("bytes by formula", rank=8), partial(_analytic, name="bytes", metric=_BYTES)),
    (Column("lower", rank=12), _figure("lower_s", _COMPILER_SECONDS)),
    (Column("compile", rank=11), _figure("compile_s", _COMPILER_SECONDS)),
    (Column("custom calls", rank=13, right=False, folds=True), _calls),
    (Column("operations", rank=14, right=False, folds=True), cells.operations),
)


def detail_table(panel: SuiteResults, target: str = HOST, requested: Sequence[str] = ()) -> TableData:
    """Rows as in a suite's table. `by formula` is the family's own count, not the compiler's.

    The columns `requested` by name are preferred where the terminal is narrow.
    """
    rows = panel.cases_on(target)
    return TableData(
        title=f"{heading(panel)}: further figures of {target}",
        columns=tuple(replace(c, rank=min(c.rank, 1)) if c.title in requested else c for c, _ in _COLUMNS),
        rows=tuple(tuple(write(row) for _, write in _COLUMNS) for row in rows),
        breaks=breaks(rows),
    )
