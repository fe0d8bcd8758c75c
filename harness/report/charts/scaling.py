"""The scaling chart: exponents of the length for time and planned figures."""

from collections.abc import Sequence

from harness.analysis.results import HOST
from harness.analysis.scaling import BENDS, Scaling
from harness.analysis.stats import Estimate
from harness.core.units import FLOPS, TEMP_BYTES
from harness.report.charts.grid import CaseGrid
from harness.report.charts.model import Mark, ScatterChart, ScatterPanel
from harness.report.charts.notes import Remark, bound_notes, failure_notes, gather_remarks, semantics_notes
from harness.report.format import short_label

NAMES = {
    "time": "time",
    "temp_bytes": f"planned {TEMP_BYTES.label}",
    "flops": FLOPS.label,
    "bytes_accessed": "bytes accessed",
}
POWERS = (0.0, 1.0, 2.0)
NO_FIT = "none"
BENT = "no single exponent, because the curve bends"


def scaling(grid: CaseGrid) -> ScatterChart | None:
    """Exponents with their intervals, a row per implementation; None if no exponent is known.

    Planned figures are those of the first target. Only suites without times show bytes accessed.
    """
    target = (grid.suite.compiled_targets or [HOST])[0]
    fits = [fit for fit in grid.suite.scalings if fit.metric == "time" or fit.target == target]
    shown = [metric for metric in NAMES if any(f.metric == metric and f.exponent is not None for f in fits)]
    metrics = shown[:3]
    fits = [fit for fit in fits if fit.metric in metrics]
    if not metrics:
        return None
    return ScatterChart(
        question=f"{grid.suite.name}: how does each figure grow with the length?",
        finding=_finding(grid, fits) if len(grid.panels) == 1 else None,
        x_label="exponent of the length",
        y_label="",
        panels=tuple(
            _panel(
                grid.title(panel, NAMES[metric]),
                {fit.implementation: fit for fit in fits if (fit.panel, fit.metric) == (panel, metric)},
                grid.labels,
            )
            for panel in grid.panels
            for metric in metrics
        ),
        notes=(
            "dashed: 0 constant, 1 linear, 2 quadratic",
            *_interval_notes(fits),
            *([f"planned figures are for target {target}"] if set(metrics) - {"time"} else []),
            *gather_remarks(grid, _remarks(fits)),
            *semantics_notes(grid),
            *bound_notes(grid),
            *failure_notes(grid),
        ),
        rows=grid.labels,
        uprights=POWERS,
    )


def _finding(grid: CaseGrid, fits: Sequence[Scaling]) -> str | None:
    """The lowest exponent of time, if its interval is below the baseline's."""
    times = {f.implementation: f for f in fits if f.metric == "time" and f.low is not None}
    base = times.pop(grid.suite.baseline, None)
    least = min(times.values(), key=lambda fit: fit.high or 0.0, default=None)
    if base is None or least is None or (least.high or 0.0) >= (base.low or 0.0):
        return None
    own, other = short_label(least.implementation), short_label(base.implementation)
    return f"{own}'s time grows as seq^{least.exponent:.2f}, {other}'s as seq^{base.exponent:.2f}"


def _panel(title: str, fits: dict[str, Scaling], rows: Sequence[str]) -> ScatterPanel:
    known = {label: fit for label, fit in fits.items() if fit.exponent is not None}
    marks = (
        Mark(label, Estimate(fit.exponent, fit.low, fit.high), Estimate(float(rows.index(label))))
        for label, fit in known.items()
    )
    return ScatterPanel(
        title, tuple(marks), {row: NO_FIT for row, label in enumerate(rows) if label not in known}
    )


def _interval_notes(fits: Sequence[Scaling]) -> list[str]:
    bounded = any(fit.low is not None for fit in fits)
    return ["whiskers: 95 % over the lengths, by Student's t on the residuals"] if bounded else []


def _remarks(fits: Sequence[Scaling]) -> list[Remark]:
    """Why there is no exponent or no interval, and where one exponent does not fit all lengths.

    They omit how much a curve bends, so that several share a line; `--json` has it.
    """
    remarks: list[Remark] = []
    for fit in fits:
        notes = [BENT if note.startswith(BENDS) else note for note in fit.notes]
        reasons = [fit.reason] if fit.reason else []
        sentences = (f"{NAMES[fit.metric]}: {each}" for each in reasons + notes)
        remarks.extend(Remark(sentence, fit.implementation, fit.panel) for sentence in sentences)
    return remarks
