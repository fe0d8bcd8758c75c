"""The memory chart: planned temporaries per target, and the measured resident memory."""

from collections.abc import Mapping
from typing import Any

from harness.analysis.results import HOST, static_of
from harness.analysis.suite_results import CaseResult
from harness.core.units import HIGH_WATER_BYTES, TEMP_BYTES, format_bytes, format_count
from harness.report.charts.drawing.scales import BYTES
from harness.report.charts.grid import DOES_NOT_FIT, NO_FIGURE, CaseGrid, failures
from harness.report.charts.model import Chart, Outcome, Panel, Point, Series
from harness.report.charts.notes import Remark, gather_remarks, record_notes, shorten
from harness.report.format import short_label
from harness.report.memory_limit import limit_of

HOLLOW = "hollow: planned, but the case failed or does not fit"
LIGHT = "small and dotted: measured high-water mark of {} memory (includes outputs)"


def memory(grid: CaseGrid, info: Mapping[str, Any]) -> Chart:
    """Bytes of temporaries: exact figures, also for cases that are too large to run."""
    shown_targets = grid.suite.compiled_targets or [HOST]
    device = next((cell.record.device for cell in grid.cells), "cpu")
    limit = limit_of(info, grid.suite.name, HOST) if device == "cpu" else None  # it limits host memory
    panels = tuple(
        Panel(
            title=grid.title(panel, target if len(shown_targets) > 1 else ""),
            lengths=grid.lengths(panel),
            series=tuple(s for label in grid.labels for s in _series(grid.at(panel, label), label, target)),
            outcomes=tuple(_outcomes(grid.at(panel), target)),
            limit=limit if target == HOST else None,
        )
        for panel in grid.panels
        for target in shown_targets
        if target == HOST or any(static_of(cell.records, target) for cell in grid.at(panel))
    )
    drawn = [series for panel in panels for series in panel.series]
    light = any(series.light and series.points for series in drawn)
    target = shown_targets[0] if device == "cpu" or shown_targets[0] != HOST else device
    legend = [f"static figures are for target {target}"] if len(shown_targets) == 1 else []
    legend += [HOLLOW] if any(point.hollow for series in drawn for point in series.points) else []
    return Chart(
        question=f"{grid.suite.name}: how much temporary memory does it need?",
        finding=_finding(grid, shown_targets[0]) if len(panels) == 1 else None,
        scale=BYTES,
        y_label=f"planned {TEMP_BYTES.label}",
        empty="no static figure (see notes)",
        panels=panels,
        notes=(
            *(["; ".join(legend)] if legend else []),
            *([LIGHT.format("resident" if device == "cpu" else "allocated")] if light else []),
            *gather_remarks(
                grid, (r for t in shown_targets for r in _missing_remarks(grid, t, len(shown_targets)))
            ),
            *record_notes(grid),
        ),
    )


def _finding(grid: CaseGrid, target: str) -> str | None:
    """The smallest plan of a correct case at the longest length, compared with the baseline's."""
    longest = max(cell.seq for cell in grid.cells)
    planned = {
        cell.label: (static.temp_bytes, cell.record.semantics)
        for cell in grid.cells
        if cell.seq == longest and cell.status != "incorrect"
        if (static := static_of(cell.records, target)) is not None and static.temp_bytes is not None
    }
    base, semantics = planned.pop(grid.suite.baseline, (None, ""))
    alike = {label: figure for label, figure in planned.items() if figure[1] == semantics} or planned
    if base is None or not alike:
        return None
    least = min(alike, key=lambda label: alike[label][0])
    baseline, at = f"{short_label(grid.suite.baseline)} {format_bytes(base)}", format_count(longest)
    if alike[least][0] >= base:
        return f"no implementation plans fewer temporaries at {at} than {baseline}"
    return f"{short_label(least)} plans {format_bytes(alike[least][0])} of temporaries at {at}, {baseline}"


def _series(cells: list[CaseResult], label: str, target: str) -> list[Series]:
    def failed_here(cell: CaseResult) -> bool:
        return cell.failed is not None and target == HOST

    planned = [
        Point(cell.seq, static.temp_bytes, hollow=failed_here(cell) or static.fits is False)
        for cell in cells
        if (static := static_of(cell.records, target)) is not None and static.temp_bytes is not None
    ]
    measured = [
        Point(cell.seq, high_water)
        for cell in cells
        if target == HOST and (high_water := cell.record.memory.high_water_bytes) is not None
    ]
    return [Series(label, tuple(planned)), Series(label, tuple(measured), light=True)]


def _outcomes(cells: list[CaseResult], target: str) -> list[Outcome]:
    """The outcomes on a target: failures on the host, elsewhere cases that do not fit by the compiler."""
    outcomes = failures(cells) if target == HOST else []
    for cell in cells:
        static = static_of(cell.records, target)
        if static is not None and static.fits is False and target != HOST:
            outcomes.append(Outcome(cell.label, cell.seq, DOES_NOT_FIT))
        elif (static is None or static.temp_bytes is None) and not (cell.failed and target == HOST):
            outcomes.append(Outcome(cell.label, cell.seq, NO_FIGURE))
    return outcomes


def _missing_remarks(grid: CaseGrid, target: str, shown_targets: int) -> list[Remark]:
    """Why figures are missing; no remark if a case failed before compilation: its status says why."""
    missing = f"no {TEMP_BYTES.label}{f' for {target}' if shown_targets > 1 else ''}"
    remarks: list[Remark] = []
    for cell in grid.cells:
        static = static_of(cell.records, target)
        sentences: list[str] = []
        if static is None and not cell.failed:
            sentences.append(f"{missing}: not compiled")
        if static is not None and static.temp_bytes is None:
            sentences.append(f"{missing}: {shorten(static.unavailable['temp_bytes'])}")
        if target == HOST and cell.timed and cell.record.memory.high_water_bytes is None:
            sentences.append(f"no {HIGH_WATER_BYTES.label} was measured")
        remarks += [Remark.of(cell, sentence) for sentence in sentences]
    return remarks
