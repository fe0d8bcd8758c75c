"""The operators of a profiled call that took longest, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from harness.core.units import format_bytes, format_count, format_seconds
from harness.profile.stage_times import ProfiledCase
from harness.report.format import ABSENT
from harness.report.tables.cells import Cell
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
    rows: list[tuple[Cell, ...]] = []
    breaks: list[int] = []
    for case in cases:
        if rows:
            breaks.append(len(rows))
        for at, each in enumerate(case.operators):
            rows.append(
                (
                    Cell("" if at else format_count(case.seq)),
                    Cell(each.operator),
                    Cell(each.stage),
                    Cell(format_seconds(each.seconds)),
                    Cell(str(each.calls)),
                    Cell(ABSENT if each.bytes is None else format_bytes(each.bytes)),
                )
            )
    return TableData(TITLE, COLUMNS, tuple(rows), tuple(breaks))


def operator_data(case: ProfiledCase) -> list[dict[str, Any]]:
    """The same as plain data: seconds and bytes of all calls of one call of the case."""
    return [asdict(each) for each in case.operators]
