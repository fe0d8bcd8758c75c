"""How a panel's figures grow with the length, where each implementation begins to win, and by how much."""

from harness.analysis.geomean import Mean
from harness.analysis.results import HOST
from harness.analysis.scaling import FIGURES, Crossover, Scaling
from harness.analysis.suite_results import SuiteResults
from harness.core.record import state_bound
from harness.report import format as fmt
from harness.report.answer import describe_briefly
from harness.report.finding import finding_of
from harness.report.footnotes import Footnotes
from harness.report.format import ABSENT, short_label
from harness.report.tables.cells import Cell

METRICS = ("time", *FIGURES)


def summary_rows(panel: SuiteResults, notes: Footnotes) -> list[tuple[Cell, ...]]:
    """Per implementation: its label, the exponents of METRICS, its crossover, and its mean speedup."""
    fitted = {
        (scaling.implementation, scaling.metric): scaling
        for scaling in panel.scalings
        if scaling.target == HOST or scaling.metric == "time"
    }
    crossed = {crossover.implementation: crossover for crossover in panel.crossovers}
    averaged = {mean.implementation: mean for mean in panel.means}
    return [
        (
            Cell(short_label(label), notes.mark_always(*state_bound(panel.bounds.get(label, "")))),
            *(_exponent(fitted[label, metric], notes) for metric in METRICS),
            _faster(panel, label, crossed.get(label), notes),
            _mean(averaged.get(label), notes),
        )
        for label in panel.implementations
        if (label, "time") in fitted
    ]


def _exponent(scaling: Scaling, notes: Footnotes) -> Cell:
    if scaling.exponent is None:
        return Cell(ABSENT, notes.mark(scaling.reason))
    text = fmt.exponent(scaling.exponent, scaling.low, scaling.high)
    return Cell(text, notes.mark(scaling.reason, *scaling.notes))


def _faster(panel: SuiteResults, label: str, crossover: Crossover | None, notes: Footnotes) -> Cell:
    """Where it is faster than the baseline, with the crossing where intervals exclude 1 on both its sides."""
    if crossover is None:
        return Cell("baseline" if label == panel.baseline else ABSENT, style="dim")
    finding = finding_of(panel, label)
    marks = notes.mark(crossover.reason)
    return Cell(describe_briefly(finding, crossover.interpolated) if finding else ABSENT, marks)


def _mean(mean: Mean | None, notes: Footnotes) -> Cell:
    """`1.24× [1.20, 1.28] (3 of 5)`: over 3 of the 5 lengths."""
    if mean is None:
        return Cell("")
    if mean.mean is None:
        return Cell(ABSENT, notes.mark(mean.reason))
    text = fmt.speedup(mean.mean, mean.low, mean.high)
    return Cell(f"{text} ({mean.n} of {mean.of})", notes.mark(*mean.notes))


def mean_caption(panel: SuiteResults) -> str:
    """What a mean speedup is, and why those without an interval have none."""
    panel_means = [mean for mean in panel.means if mean.mean is not None]
    why = dict.fromkeys(mean.reason for mean in panel_means if mean.low is None and mean.reason)
    interval = f"; no interval: {', '.join(why)}" if why else "; [low, high]: 95 %, by process"
    return f"mean speedup: geometric, over the lengths at which both were timed{interval}."
