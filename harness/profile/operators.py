"""The operators of a profiled call that took longest, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from harness.core.record import OperatorFigures
from harness.core.units import format_bytes, format_count, format_seconds
from harness.profile.stage_times import ProfiledCase
from harness.report.format import ABSENT
from harness.report.tables.table_data import Column, TableData

TITLE = "The operators that took longest in one call, by the profiler: their own time, one reading"
COLUMNS = (
    Column("seq"),
    Column("operator", right=False),
    Column("stage", right=False),
    Column("time"),
    Column("calls"),
    Column("bytes"),
)


def operator_table(cases: Sequence[ProfiledCase]) -> TableData:
    """The operators of each length."""
    sections = [([format_count(case.seq)], map(_row, case.operators)) for case in cases]
    return TableData.of_sections(TITLE, COLUMNS, sections)


def _row(figures: OperatorFigures) -> tuple[str, ...]:
    size = ABSENT if figures.bytes is None else format_bytes(figures.bytes)
    return figures.operator, figures.stage, format_seconds(figures.seconds), str(figures.calls), size


def operator_data(case: ProfiledCase) -> list[dict[str, Any]]:
    """The same as plain data: seconds and bytes of all calls of one call of the case."""
    return [asdict(each) for each in case.operators]
