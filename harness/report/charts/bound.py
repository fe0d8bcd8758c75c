"""The chart of roofline bounds: the least time of a call on devices that are not at hand, by arithmetic."""

from collections.abc import Sequence

from harness.analysis.device_bound import DeviceBound, device_bound, device_bounds, first_below
from harness.analysis.results import representative
from harness.analysis.suite_results import CaseResult
from harness.core.units import format_count
from harness.report.charts.drawing.scales import TIME
from harness.report.charts.grid import CaseGrid
from harness.report.charts.model import Chart, Panel, Point, Series
from harness.report.format import short_label

WHAT = "bound: FLOPs, by the family's formula, at the device's documented peak, or bytes at its bandwidth"
HOLLOW = "hollow: the bound is the bytes'"


def bound(grid: CaseGrid) -> Chart | None:
    """The bounds of every implementation on every accelerator; None where no case has one."""
    places = [
        (panel, target)
        for panel in grid.panels
        for target in grid.suite.compiled_targets
        if any(_bound_of(cell, target) for cell in grid.at(panel))
    ]
    if not places:
        return None
    by_bytes = any(
        found.by == "bytes"
        for panel, target in places
        for cell in grid.at(panel)
        if (found := _bound_of(cell, target))
    )
    sentences = {_finding(grid, panel, target) for panel, target in places}
    return Chart(
        question=f"{grid.suite.name}: what does a call take at least, by a device's documented rates?",
        finding=sentences.pop() if len(sentences) == 1 else None,
        scale=TIME,
        y_label="bound of a call's time",
        empty="no bound",
        panels=tuple(
            Panel(
                title=grid.title(panel, target),
                lengths=grid.lengths(panel),
                series=tuple(Series(label, _points(grid.at(panel, label), target)) for label in grid.labels),
                outcomes=(),
            )
            for panel, target in places
        ),
        notes=(
            WHAT,
            "nothing ran on these devices, and kernels stay above it",
            *([HOLLOW] if by_bytes else []),
        ),
    )


def _bound_of(cell: CaseResult, target: str) -> DeviceBound | None:
    return device_bound(representative(cell.records), target)


def _points(cells: Sequence[CaseResult], target: str) -> tuple[Point, ...]:
    bounds = ((cell.seq, _bound_of(cell, target)) for cell in cells)
    return tuple(Point(seq, found.seconds, hollow=found.by == "bytes") for seq, found in bounds if found)


def _finding(grid: CaseGrid, panel: str, target: str) -> str | None:
    """The length from which others may be faster than the baseline; None where they have none in common."""
    begins = first_below(device_bounds(grid.suite.panels[panel], target), grid.suite.baseline)
    if len(set(begins.values())) != 1:
        return None
    names = ", ".join(map(short_label, begins))
    begin = format_count(next(iter(begins.values())))
    return f"the bound of {names} is below {short_label(grid.suite.baseline)}'s from {begin} tokens on"
