"""How long one call takes at every length."""

from collections.abc import Mapping

from harness.analysis.stats import Estimate
from harness.analysis.suite_results import CaseResult
from harness.report.charts.grid import CaseGrid
from harness.report.charts.marks import failure_marks, keys_of
from harness.report.charts.model import NOT_TIMED, Chart, Mark, Panel, Point, Series
from harness.report.charts.notes import interval_notes, record_notes


def latency(grid: CaseGrid) -> Chart:
    """Medians in seconds with their intervals; every case without a timing is in the strip."""
    titles = grid.titles()
    times = {cell.case: cell.time for cell in grid.cells}
    panels = tuple(
        Panel(
            title=titles[panel],
            lengths=grid.lengths(panel),
            series=tuple(Series(label, _points(grid.at(panel, label), times)) for label in grid.labels),
            marks=(*failure_marks(grid.at(panel)), *_untimed_marks(grid.at(panel))),
        )
        for panel in grid.panels
    )
    return Chart(
        title=f"{grid.suite.name}: how long does one call take?",
        scale="time",
        y_label="time per call (median)",
        empty="nothing was timed",
        panels=panels,
        keys=keys_of(panels),
        notes=(*record_notes(grid), *interval_notes(times.values())),
    )


def _points(cells: list[CaseResult], times: Mapping[str, Estimate]) -> tuple[Point, ...]:
    return tuple(
        Point(cell.seq, estimate.value, estimate.low, estimate.high)
        for cell in cells
        if (estimate := times[cell.case]).value is not None
    )


def _untimed_marks(cells: list[CaseResult]) -> list[Mark]:
    return [Mark(cell.label, cell.seq, NOT_TIMED) for cell in cells if not cell.timed and not cell.failed]
