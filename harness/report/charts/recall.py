"""The recall chart: recall over speedup."""

from harness.analysis.stats import Estimate
from harness.analysis.suite_results import CaseResult
from harness.core.units import format_count
from harness.report.charts.grid import CaseGrid
from harness.report.charts.model import Mark, ScatterChart, ScatterPanel
from harness.report.charts.notes import interval_notes, record_notes, speedup_estimate

RECALL = "recall"  # a contract, and its figure
EXACT = "exact"
EXPECTED = "expected_recall"  # a fact that implementations state
TARGETS = ("target", "at_least")  # figures of the contract
HOLLOW = "hollow: expected recall by theory, for scores at random positions"


def recall(grid: CaseGrid) -> ScatterChart | None:
    """A panel per length; None if no timed case was checked by its recall.

    A case that passes an exact contract, like the baseline, has a recall of 1.
    """
    marks: dict[tuple[str, int], list[Mark]] = {}
    targets: dict[float, str] = {}
    for cell in grid.cells:
        marks.setdefault((cell.panel, cell.seq), []).extend(_marks(cell))
        targets |= {t: f"target {t:g}" for name in TARGETS if (t := _figure(cell, name)) is not None}
    drawn = {point: found for point, found in marks.items() if found}
    if not any(cell.timed and _figure(cell, RECALL) is not None for cell in grid.cells) or not drawn:
        return None
    every = [mark for found in drawn.values() for mark in found]
    return ScatterChart(
        question=f"{grid.suite.name}: which recall at which speedup?",
        x_label="speedup over the baseline",
        y_label="recall",
        panels=tuple(
            ScatterPanel(grid.title(panel, format_count(seq)), tuple(found))
            for (panel, seq), found in drawn.items()
        ),
        notes=(
            "recall: mean over rows, with the 95 % interval over rows; 1 if the contract is exact",
            *([HOLLOW] if any(mark.hollow for mark in every) else []),
            *interval_notes(mark.across for mark in every if not mark.hollow and mark.across.samples),
            *record_notes(grid),
        ),
        ratio=True,
        levels=targets,
    )


def _marks(cell: CaseResult) -> list[Mark]:
    """A timed case's recall at its speedup, and its expected recall by theory."""
    correctness = cell.record.correctness
    found = _figure(cell, RECALL)
    if correctness is None or not cell.timed or (found is None and correctness.contract != EXACT):
        return []
    across = speedup_estimate(cell.compared) if cell.compared else Estimate(1.0)
    if across.value is None:
        return []
    up = Estimate(1.0 if found is None else found, _figure(cell, "recall_low"), _figure(cell, "recall_high"))
    expected = cell.record.facts.get(EXPECTED)
    marks = [Mark(cell.label, across, up)]
    if isinstance(expected, float):
        marks.append(Mark(cell.label, Estimate(across.value), Estimate(expected), hollow=True))
    return marks


def _figure(cell: CaseResult, name: str) -> float | None:
    """A figure of a case's contract result; None if it has none."""
    correctness = cell.record.correctness
    value = correctness.figures.get(name) if correctness else None
    return float(value) if isinstance(value, int | float) else None
