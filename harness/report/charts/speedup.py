"""From which length on an implementation is faster than the baseline."""

from collections.abc import Collection, Iterable, Mapping

from harness.analysis.compare import Comparison
from harness.analysis.scaling import Crossover, near
from harness.analysis.stats import Estimate
from harness.analysis.suite_results import CaseResult
from harness.core.units import format_count
from harness.report.charts.grid import CaseGrid
from harness.report.charts.marks import failure_marks, keys_of
from harness.report.charts.model import (
    CROSSOVER,
    FIRST_WIN,
    NO_RATIO,
    Chart,
    Mark,
    Panel,
    Point,
    Series,
)
from harness.report.charts.notes import Remark, gather_remarks, interval_notes, record_notes
from harness.report.format import short_label


def speedup(grid: CaseGrid) -> Chart:
    """The baseline's time over the case's; hollow points but for the first length that wins."""
    suite, titles = grid.suite, grid.titles()
    compared = {c.case: c for c in grid.suite.comparisons}
    crossed = {(c.panel, c.implementation): c for c in suite.crossovers}
    others = [label for label in grid.labels if label != suite.baseline]
    panels = tuple(
        Panel(
            title=titles[panel],
            lengths=grid.lengths(panel),
            series=tuple(
                Series(label, _points(grid, compared, crossed.get((panel, label)), panel, label))
                for label in others
            ),
            marks=(
                *failure_marks(grid.at(panel)),
                *(Mark(c.label, c.seq, NO_RATIO) for c in _without_ratio(grid, compared) if c.panel == panel),
                *(mark for label in others for mark in _crossing_marks(crossed.get((panel, label)))),
            ),
        )
        for panel in grid.panels
    )
    valued = [c for c in compared.values() if c.speedup is not None]
    won = any(not point.hollow for panel in panels for series in panel.series for point in series.points)
    over = short_label(suite.baseline) if suite.baseline else "a baseline"
    return Chart(
        title=f"{suite.name}: from which length on is anything faster than {over}?",
        scale="ratio",
        y_label="speedup over the baseline",
        empty="no speedup to show (see notes)",
        panels=panels,
        keys=keys_of(panels, *([FIRST_WIN] if won else [])),
        notes=(
            *gather_remarks(grid, _verdicts(crossed.values(), {(c.panel, c.implementation) for c in valued})),
            *gather_remarks(grid, _missing_remarks(grid, compared)),
            *record_notes(grid),
            *interval_notes(
                Estimate(c.speedup, c.low, c.high, c.samples, c.unit, c.reason) for c in compared.values()
            ),
        ),
    )


def _points(
    grid: CaseGrid, compared: Mapping[str, Comparison], crossing: Crossover | None, panel: str, label: str
) -> tuple[Point, ...]:
    first = crossing.first_grid if crossing else None
    return tuple(
        Point(c.seq, c.speedup, c.low, c.high, hollow=c.seq != first)
        for cell in grid.at(panel, label)
        if (c := compared[cell.case]).speedup is not None
    )


def _without_ratio(grid: CaseGrid, compared: Mapping[str, Comparison]) -> list[CaseResult]:
    """Cases that did not fail themselves and still have no speedup, as when the baseline has no time."""
    return [
        cell
        for cell in grid.cells
        if not cell.failed and cell.case in compared and compared[cell.case].speedup is None
    ]


def _crossing_marks(crossing: Crossover | None) -> list[Mark]:
    if crossing is None or crossing.interpolated is None:
        return []
    text = near(crossing.interpolated)
    return [Mark(crossing.implementation, crossing.interpolated, CROSSOVER, (text,))]


def _verdicts(crossed: Iterable[Crossover], drawn: Collection[tuple[str, str]]) -> list[Remark]:
    """Since when an implementation wins, or why never.

    Where it has no speedup at all there is nothing to say of a crossing: its failures say why.
    """
    return [
        Remark(_verdict(crossing), crossing.implementation, crossing.panel)
        for crossing in crossed
        if (crossing.panel, crossing.implementation) in drawn
    ]


def _verdict(crossing: Crossover) -> str:
    why = f" ({crossing.reason})" if crossing.reason else ""
    if crossing.first_grid is None:
        return f"no crossover{why}"
    since = f"faster from {format_count(crossing.first_grid)} on"
    if crossing.interpolated is not None:
        since += f", crossing at {near(crossing.interpolated)}"
    return since + why


def _missing_remarks(grid: CaseGrid, compared: Mapping[str, Comparison]) -> list[Remark]:
    return [
        Remark(f"speedup {compared[cell.case].reason}", cell.label, cell.panel, cell.seq)
        for cell in _without_ratio(grid, compared)
    ]
