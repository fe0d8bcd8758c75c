"""How a panel's figures grow with the length, where each implementation begins to win, and by how much."""

from harness.analysis.geomean import Mean, means
from harness.analysis.results import HOST, SuiteRecords
from harness.analysis.scaling import FIGURES, Crossover, Scaling, crossovers, near, scalings
from harness.core.units import format_count
from harness.report import format as fmt
from harness.report.format import ABSENT
from harness.report.tables.cells import Cell, Footnotes, short_label

METRICS = ("time", *FIGURES)


def summary_rows(suite: SuiteRecords, panel: str, notes: Footnotes) -> list[tuple[Cell, ...]]:
    """Per implementation: its label, the exponents of METRICS, its crossover, and its mean speedup."""
    fitted = {
        (found.implementation, found.metric): found
        for found in scalings(suite)
        if found.panel == panel and (found.target == HOST or found.metric == "time")
    }
    crossed = {found.implementation: found for found in crossovers(suite) if found.panel == panel}
    averaged = {found.implementation: found for found in means(suite) if found.panel == panel}
    return [
        (
            Cell(short_label(label)),
            *(_exponent(fitted[label, metric], notes) for metric in METRICS),
            _crossover(suite, label, crossed.get(label), notes),
            _mean(averaged.get(label), notes),
        )
        for label in suite.implementations
        if (label, "time") in fitted
    ]


def _exponent(found: Scaling, notes: Footnotes) -> Cell:
    if found.exponent is None:
        return Cell(ABSENT, notes.mark(found.reason))
    text = fmt.exponent(found.exponent, found.low, found.high)
    return Cell(text, notes.mark(found.reason, *found.notes))


def _crossover(suite: SuiteRecords, label: str, found: Crossover | None, notes: Footnotes) -> Cell:
    if found is None:
        return Cell("baseline" if label == suite.baseline else ABSENT, style="dim")
    reason = found.reason or ""
    if found.first_grid is None:
        none, _, why = reason.partition(": ")
        if none == "none in range":
            return Cell(none, notes.mark(why))
        return Cell(ABSENT, notes.mark(reason))
    at = format_count(found.first_grid)
    if found.interpolated is not None:
        return Cell(f"{at} ({near(found.interpolated)})", notes.mark(reason))
    always = reason.startswith("faster at every length")
    return Cell(f"≤ {at}" if always else at, notes.mark(reason))


def _mean(found: Mean | None, notes: Footnotes) -> Cell:
    """`1.24× [1.20, 1.28] (3 of 5)`: over 3 of the 5 lengths."""
    if found is None:
        return Cell("")
    if found.mean is None:
        return Cell(ABSENT, notes.mark(found.reason))
    text = fmt.speedup(found.mean, found.low, found.high)
    return Cell(f"{text} ({found.n} of {found.of})", notes.mark(*found.notes))


def mean_caption(suite: SuiteRecords, panel: str) -> str:
    """What a mean speedup is, and why those without an interval have none."""
    own = [found for found in means(suite) if found.panel == panel and found.mean is not None]
    why = dict.fromkeys(found.reason for found in own if found.low is None and found.reason)
    interval = f"; no interval: {', '.join(why)}" if why else "; [low, high]: 95 %, by process"
    return f"mean speedup: geometric, over the lengths at which both were timed{interval}."
