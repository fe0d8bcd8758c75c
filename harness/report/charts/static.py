"""What a compiler plans in all for every target, and whether its memory holds it."""

from collections.abc import Mapping, Sequence
from typing import Any

from harness.analysis.results import HOST, static_of, targets
from harness.report.charts.grid import CaseGrid, GridCell
from harness.report.charts.marks import keys_of
from harness.report.charts.model import (
    DEVICE,
    DOES_NOT_FIT,
    NO_FIGURE,
    OVERFLOW,
    Chart,
    Mark,
    Panel,
    Point,
    Series,
)
from harness.report.charts.notes import Remark, failure_notes, gathered, semantics_notes, shortened
from harness.report.memory_limit import limit_of
from harness.report.tables.target_lines import program_lines


def static(grid: CaseGrid, info: Mapping[str, Any]) -> Chart:
    """Arguments, outputs and temporaries less aliases, in bytes: a panel per target, its memory a line.

    Cases that do not fit are hollow; those without figures are in the strip.
    """
    compiled = targets(grid.suite) or [HOST]
    titles = grid.titles()
    panels = tuple(
        Panel(
            title=" · ".join(filter(None, (titles[panel], target if len(compiled) > 1 else ""))),
            lengths=grid.lengths(panel),
            series=tuple(Series(label, _points(grid.at(panel, label), target)) for label in grid.labels),
            marks=tuple(mark for cell in grid.at(panel) for mark in _marks(cell, target)),
            limit=limit_of(info, grid.suite.name, target),
            limit_named="left",
        )
        for panel in grid.panels
        for target in compiled
    )
    hollow = any(point.hollow for panel in panels for series in panel.series for point in series.points)
    limited = any(panel.limit is not None for panel in panels)
    return Chart(
        title=f"{grid.suite.name}: how much memory does a program plan, and does it fit?",
        scale="bytes",
        y_label="planned bytes",
        empty="no static figure (see notes)",
        panels=panels,
        keys=keys_of(panels, *([OVERFLOW] if hollow else []), *([DEVICE] if limited else [])),
        notes=(
            "planned bytes: arguments + outputs + temporaries, less what they share",
            *([f"compiled for {compiled[0]}"] if len(compiled) == 1 else []),
            *_remarks(grid, compiled),
            *semantics_notes(grid),
            *program_lines(grid.suite),
            *failure_notes(grid),
        ),
    )


def _points(cells: Sequence[GridCell], target: str) -> tuple[Point, ...]:
    return tuple(
        Point(cell.seq, figures.planned_bytes, hollow=figures.fits is False)
        for cell in cells
        if (figures := static_of(cell.records, target)) is not None and figures.planned_bytes is not None
    )


def _marks(cell: GridCell, target: str) -> list[Mark]:
    """What stands in the strip for want of a point: a failure, a refusal by the compiler, or no figure."""
    figures = static_of(cell.records, target)
    if figures is not None and figures.planned_bytes is not None:
        return []
    if figures is not None and figures.fits is False:
        return [Mark(cell.label, cell.seq, DOES_NOT_FIT)]
    return [Mark(cell.label, cell.seq, cell.status if cell.failed else NO_FIGURE)]


def _remarks(grid: CaseGrid, compiled: Sequence[str]) -> list[str]:
    """Why a figure is missing, and doubts about those that are not; targets share lines."""
    found: dict[str, list[str]] = {}
    for target in compiled:
        said = [remark for cell in grid.cells for remark in _of_cell(cell, target)]
        for line in gathered(grid, said):
            found.setdefault(line, []).append(target)
    every = len(compiled)
    return [line if len(on) == every else f"{', '.join(on)}: {line}" for line, on in found.items()]


def _of_cell(cell: GridCell, target: str) -> list[Remark]:
    """A case that failed says so by its status, and why in the notes on failures."""
    figures = static_of(cell.records, target)
    if figures is None:
        said = [] if cell.failed else ["not compiled"]
    elif figures.planned_bytes is None and cell.failed and figures.fits is None:
        said = []
    elif figures.planned_bytes is None:
        missing = (n for n in ("temp_bytes", "argument_bytes", "output_bytes") if getattr(figures, n) is None)
        why = shortened(figures.unavailable[next(missing)])
        said = [f"{'does not fit' if figures.fits is False else 'no figure'}: {why}"]
    else:
        said = [shortened(warning) for warning in figures.warnings]
    return [Remark(sentence, cell.label, cell.panel, cell.seq) for sentence in said]
