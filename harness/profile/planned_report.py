"""Planned stages on a terminal and as JSON: what binds first, then a table of stages for every length."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.text import Text

from harness.analysis.results import label_of
from harness.core.units import format_big, format_bytes, format_count, format_seconds
from harness.profile.planned_stages import StagePlan
from harness.profile.report import NO_STAGE
from harness.report.format import ABSENT
from harness.report.tables.render import print_tables
from harness.report.tables.table_data import Column, TableData

CAPTION = (
    "bound: a lower bound by roofline, not a time: the larger of a stage's FLOPs over FLOP/s and of its "
    "bytes over bytes/s. share: of the sum of the bounds. FLOPs, of matrix products and attention kernels, "
    "and bytes, read and written by every operator, are those of a trace for the host. Stages inside another "
    "stand apart (outer/inner)."
)
COLUMNS = (
    Column("seq"),
    Column("stage", right=False),
    Column("times", rank=3),
    Column("operators", rank=3),
    Column("FLOPs", rank=1),
    Column("bytes", rank=1),
)


def print_planned(console: Console, cases: Sequence[StagePlan]) -> None:
    """What takes most by each target's bounds, then a table; cases are in the order of series and length."""
    for series, found in groupby(cases, key=lambda case: case.record.as_case.series):
        of_series = list(found)
        sample = of_series[0].record
        console.print(Text(f"{label_of(sample)}, planned: {series}", style="bold"), soft_wrap=True)
        for sentence in sentences(of_series[-1]):
            console.print(Text(sentence), soft_wrap=True)
        print_tables(console, _table(of_series))
    if cases:
        console.print(Text(CAPTION, style="dim"), soft_wrap=True)


def sentences(longest: StagePlan) -> Iterator[str]:
    """The three stages with the largest bounds by target, or why it has none."""
    for name, source in longest.sources.items():
        bounds = [(work.stage or NO_STAGE, by_target[name]) for work, by_target in longest.stages]
        by_share = sorted(bounds, key=lambda stage: -stage[1].share)
        largest = ", ".join(f"{stage} {_percent(b.share)} ({b.binds})" for stage, b in by_share[:3])
        total = format_seconds(sum(bound.seconds for _, bound in bounds))
        at = format_count(longest.record.seq)
        yield f"At {at} on {name} ({source}) the bounds add up to {total}: {largest}."
    for name, reason in longest.missing.items():
        yield f"{name}: no bounds: {reason}."


def _table(cases: Sequence[StagePlan]) -> TableData:
    columns = [
        Column(title, right=title != "binds", rank=rank)
        for name in cases[0].sources
        for title, rank in ((f"{name} bound", 0), ("share", 0), ("binds", 2))
    ]
    sections = [([format_count(case.record.seq)], _rows(case)) for case in cases]
    return TableData.of_sections("", (*COLUMNS, *columns), sections)


def _rows(case: StagePlan) -> Iterator[tuple[str, ...]]:
    for work, bounds in case.stages:
        yield (
            work.stage or NO_STAGE,
            str(work.entered) if work.stage else "",
            str(work.operators),
            format_big(work.flops) if work.flops else ABSENT,
            format_bytes(work.bytes),
            *(t for b in bounds.values() for t in (format_seconds(b.seconds), _percent(b.share), b.binds)),
        )


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def planned_data(cases: Sequence[StagePlan]) -> list[dict[str, Any]]:
    """The same as plain data: seconds, shares from 0 to 1, counts of one call."""
    return [
        {
            "case": case.record.case,
            "implementation": label_of(case.record),
            "seq": case.record.seq,
            "peaks": dict(case.sources),
            "without_bounds": dict(case.missing),
            "stages": [
                {**asdict(work), "bounds": {name: asdict(bound) for name, bound in bounds.items()}}
                for work, bounds in case.stages
            ],
        }
        for case in cases
    ]
