"""The speedup chart: the length from which an implementation is faster than the baseline."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from harness.analysis.scaling import Crossover, format_length
from harness.analysis.suite_results import CaseResult
from harness.core.units import format_count
from harness.report.charts.drawing.scales import RATIO
from harness.report.charts.grid import NO_RATIO, CaseGrid, failures
from harness.report.charts.model import Chart, Outcome, Panel, Point, PublishedCurve, Series, points
from harness.report.charts.notes import Remark, gather_remarks, interval_notes, record_notes, speedup_estimate
from harness.report.format import short_label

PUBLISHED = "dotted lines with a source: published figures, for that source's hardware and shapes"


def speedup(grid: CaseGrid, curves: Sequence[PublishedCurve] = ()) -> Chart:
    """The baseline's time over the case's.

    Published `curves` of the same implementation and baseline are also drawn.
    """
    compared = grid.suite.comparisons
    crossed = {(c.implementation, c.panel): c for c in grid.suite.crossovers}
    measured = [_panel(grid, panel, crossed) for panel in grid.panels]
    panels = tuple(
        replace(panel, published=_curves_over(grid.at(name), panel.lengths, grid.suite.baseline, curves))
        for name, panel in zip(grid.panels, measured, strict=True)
    )
    # No note on a crossover if no speedup is known: the notes on failures say why.
    drawn = {(c.implementation, c.panel) for c in compared if c.speedup is not None}
    absent = {key for key in drawn & crossed.keys() if crossed[key].lacks_baseline}
    over = short_label(grid.suite.baseline) if grid.suite.baseline else "a baseline"
    return Chart(
        question=f"{grid.suite.name}: from which length is an implementation faster than {over}?",
        finding=grid.headline,
        scale=RATIO,
        y_label="speedup over the baseline",
        empty="no speedup to show (see notes)",
        panels=panels,
        notes=(
            *gather_remarks(grid, (Remark(_verdict(c), *key) for key, c in crossed.items() if key in drawn)),
            *([PUBLISHED] if any(panel.published for panel in panels) else []),
            *gather_remarks(grid, _missing_remarks(grid, absent)),
            *record_notes(grid),
            *interval_notes(map(speedup_estimate, compared)),
        ),
    )


def _panel(grid: CaseGrid, panel: str, crossed: Mapping[tuple[str, str], Crossover]) -> Panel:
    """A panel up to the longest length with a point. The notes say why longer lengths have none."""
    others = [label for label in grid.labels if label != grid.suite.baseline]
    measured = [Series(label, _points(grid.at(panel, label))) for label in others]
    whole = grid.lengths(panel)
    last = max((point.seq for line in measured for point in line.points), default=whole[-1])
    cells = grid.at(panel)
    outcomes = failures(cells) + [Outcome(c.label, c.seq, NO_RATIO) for c in _without_ratio(cells)]
    crossings = [(label, crossed[label, panel].interpolated) for label in others if (label, panel) in crossed]
    return Panel(
        title=grid.timed_titles[panel],
        lengths=tuple(length for length in whole if length <= last),
        series=tuple(measured),
        outcomes=tuple(outcome for outcome in outcomes if outcome.seq <= last),
        crossings=tuple((label, at) for label, at in crossings if at is not None),
    )


def _curves_over(
    cells: Sequence[CaseResult], lengths: Sequence[int], baseline: str, curves: Sequence[PublishedCurve]
) -> tuple[tuple[str, PublishedCurve], ...]:
    """The part of each curve within the panel's lengths, if it has two points."""
    shown: dict[tuple[str, PublishedCurve], None] = {}
    for cell in cells:
        for curve in curves:
            alike = (curve.implementation, curve.baseline, curve.mode) == (
                cell.record.implementation,
                baseline.partition("[")[0],
                cell.record.mode,
            )
            points = tuple(p for p in curve.points if lengths[0] <= p[0] <= lengths[-1])
            if alike and len(points) > 1:
                shown[cell.label, replace(curve, points=points)] = None
    return tuple(shown)


def _points(cells: Iterable[CaseResult]) -> tuple[Point, ...]:
    return points((cell.seq, speedup_estimate(cell.compared)) for cell in cells if cell.compared)


def _without_ratio(cells: Iterable[CaseResult]) -> list[CaseResult]:
    """Cases that did not fail but have no speedup, for example because the baseline has no time."""
    return [cell for cell in cells if not cell.failed and cell.compared and cell.compared.speedup is None]


def _verdict(crossing: Crossover) -> str:
    why = f"; {crossing.reason}" if crossing.reason else ""
    if crossing.first_grid is None:
        return f"no crossover: {crossing.reason}"
    since = f"faster from {format_count(crossing.first_grid)}"
    if crossing.interpolated is not None:
        since += f", crossover near {format_length(crossing.interpolated)}"
    return since + why


def _missing_remarks(grid: CaseGrid, absent: Collection[tuple[str, str]]) -> list[Remark]:
    """Why there is no speedup. Skips the `absent` (label, panel): their crossover note says it."""
    remarks: list[Remark] = []
    for cell in _without_ratio(grid.cells):
        compared = cell.compared
        known = compared and compared.baseline_outcome and (cell.label, cell.panel) in absent
        if compared and not known:
            remarks.append(Remark.of(cell, f"speedup {compared.reason}"))
    return remarks
