"""The latency chart: the time of one call at every length."""

from harness.analysis.suite_results import CaseResult
from harness.report.answer import other_clocks
from harness.report.charts.drawing.scales import TIME
from harness.report.charts.grid import NOT_TIMED, CaseGrid, failures
from harness.report.charts.model import Chart, Outcome, Panel, Series, points
from harness.report.charts.notes import interval_notes, record_notes


def latency(grid: CaseGrid) -> Chart:
    """Medians in seconds with their intervals; cases without a time are in the outcome strip."""
    return Chart(
        question=f"{grid.suite.name}: how long does one call take?",
        finding=grid.headline,
        scale=TIME,
        y_label="time per call (median)",
        empty="nothing was timed",
        panels=tuple(
            Panel(
                title=grid.timed_titles[panel],
                lengths=grid.lengths(panel),
                series=tuple(
                    Series(label, points((cell.seq, cell.time) for cell in grid.at(panel, label)))
                    for label in grid.labels
                ),
                outcomes=(*failures(grid.at(panel)), *_name_untimed(grid.at(panel))),
            )
            for panel in grid.panels
        ),
        notes=(
            *filter(None, [other_clocks(grid.suite)]),
            *record_notes(grid),
            *interval_notes(cell.time for cell in grid.cells),
        ),
    )


def _name_untimed(cells: list[CaseResult]) -> list[Outcome]:
    return [Outcome(cell.label, cell.seq, NOT_TIMED) for cell in cells if not cell.timed and not cell.failed]
