"""The static chart: planned memory for every target, and whether it fits."""

from collections.abc import Mapping, Sequence
from typing import Any

from harness.analysis.results import HOST, static_of
from harness.analysis.suite_results import CaseResult
from harness.core.grouped import collected
from harness.report.charts.drawing.scales import BYTES
from harness.report.charts.grid import DOES_NOT_FIT, NO_FIGURE, CaseGrid
from harness.report.charts.model import Chart, Outcome, Panel, Point, Series
from harness.report.charts.notes import (
    Remark,
    bound_notes,
    failure_notes,
    gather_remarks,
    semantics_notes,
    shorten,
)
from harness.report.format import status_words
from harness.report.memory_limit import limit_of
from harness.report.tables.targets import program_lines


def static(grid: CaseGrid, info: Mapping[str, Any]) -> Chart:
    """Arguments, outputs and temporaries minus aliases, in bytes: a panel per target, with its memory limit.

    Cases that do not fit are hollow; those without figures are in the strip.
    """
    compiled = grid.suite.compiled_targets or [HOST]
    panels = tuple(
        Panel(
            title=grid.title(panel, target if len(compiled) > 1 else ""),
            lengths=grid.lengths(panel),
            series=tuple(Series(label, _points(grid.at(panel, label), target)) for label in grid.labels),
            outcomes=tuple(outcome for cell in grid.at(panel) for outcome in _outcomes(cell, target)),
            limit=limit_of(info, grid.suite.name, target),
        )
        for panel in grid.panels
        for target in compiled
    )
    hollow = any(point.hollow for panel in panels for series in panel.series for point in series.points)
    return Chart(
        question=f"{grid.suite.name}: how much memory is planned, and does it fit?",
        scale=BYTES,
        y_label="planned bytes",
        empty="no static figure (see notes)",
        panels=panels,
        notes=(
            "planned bytes: arguments + outputs + temporaries − aliased bytes",
            *(["hollow: does not fit"] if hollow else []),
            *([f"compiled for {compiled[0]}"] if len(compiled) == 1 else []),
            *_remarks(grid, compiled),
            *semantics_notes(grid),
            *bound_notes(grid),
            *program_lines(grid.suite),
            *failure_notes(grid),
        ),
    )


def _points(cells: Sequence[CaseResult], target: str) -> tuple[Point, ...]:
    return tuple(
        Point(cell.seq, figures.planned_bytes, hollow=figures.fits is False)
        for cell in cells
        if (figures := static_of(cell.records, target)) is not None and figures.planned_bytes is not None
    )


def _outcomes(cell: CaseResult, target: str) -> list[Outcome]:
    """The outcome of a case without a point: a failure, a refusal by the compiler, or no figure."""
    figures = static_of(cell.records, target)
    if figures is not None and figures.planned_bytes is not None:
        return []
    if figures is not None and figures.fits is False:
        return [Outcome(cell.label, cell.seq, DOES_NOT_FIT)]
    return [Outcome(cell.label, cell.seq, status_words(cell.status) if cell.failed else NO_FIGURE)]


def _remarks(grid: CaseGrid, compiled: Sequence[str]) -> list[str]:
    """Why figures are missing, and warnings about the others; targets share equal lines."""
    targets_by_line = collected(
        (line, target)
        for target in compiled
        for line in gather_remarks(grid, (r for cell in grid.cells for r in _cell_remarks(cell, target)))
    )
    every = len(compiled)
    return [line if len(on) == every else f"{', '.join(on)}: {line}" for line, on in targets_by_line.items()]


def _cell_remarks(cell: CaseResult, target: str) -> list[Remark]:
    """The remarks on one case; none if it failed without figures, because the notes on failures say why."""
    figures = static_of(cell.records, target)
    if figures is None:
        sentences = [] if cell.failed else ["not compiled"]
    elif figures.planned_bytes is None and cell.failed and figures.fits is None:
        sentences = []
    elif figures.planned_bytes is None:
        missing = (n for n in ("temp_bytes", "argument_bytes", "output_bytes") if getattr(figures, n) is None)
        why = shorten(figures.unavailable[next(missing)])
        sentences = [f"{'does not fit' if figures.fits is False else 'no figure'}: {why}"]
    else:
        sentences = [shorten(warning) for warning in figures.warnings]
    return [Remark.of(cell, sentence) for sentence in sentences]
