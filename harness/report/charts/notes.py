"""The footnotes of charts, which qualify their figures."""

import re
import textwrap
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from harness.analysis.compare import Comparison
from harness.analysis.compare_runs import BOTH_INTERVALS
from harness.analysis.stats import BY_PROCESS, ROUNDS, Estimate, required
from harness.analysis.suite_results import CaseResult
from harness.core.grouped import collected, grouped
from harness.core.record import state_bound
from harness.core.units import format_count
from harness.report.charts.grid import CaseGrid
from harness.report.finding import by_meaning
from harness.report.format import short_label, status_words

REASON_WIDTH = 180

_OVER = {
    ROUNDS: "over rounds within one process",
    BY_PROCESS: "over processes",
    BOTH_INTERVALS: "as wide as the intervals of both sides allow",
}


@dataclass(frozen=True)
class Remark:
    """A sentence about an implementation in a panel, at one length or (None) at all."""

    sentence: str
    label: str
    panel: str
    seq: int | None = None

    @classmethod
    def of(cls, cell: CaseResult, sentence: str) -> "Remark":
        return cls(sentence, cell.label, cell.panel, cell.seq)


def gather_remarks(grid: CaseGrid, remarks: Iterable[Remark]) -> list[str]:
    """One line per sentence: `dense at 64Ki, 128Ki; gather at 128Ki [bwd]: …`.

    A line omits panels and lengths if its sentence holds for all of the implementation's.
    """
    lines: list[str] = []
    for sentence, alike in grouped(remarks, lambda remark: remark.sentence).items():
        by_label = grouped(alike, lambda remark: remark.label)
        by_place = collected((_place(grid, label, rs), short_label(label)) for label, rs in by_label.items())
        subjects = "; ".join(", ".join(labels) + place for place, labels in by_place.items())
        lines.append(f"{subjects}: {sentence}")
    return lines


def _place(grid: CaseGrid, label: str, remarks: Iterable[Remark]) -> str:
    """` at 4Ki, 16Ki [bwd]`, or less."""
    whole = {panel: {cell.seq for cell in cells} for panel in grid.panels if (cells := grid.at(panel, label))}
    places = {
        (remark.panel, seq)
        for remark in remarks
        for seq in (whole[remark.panel] if remark.seq is None else whole[remark.panel] & {remark.seq})
    }
    panels = {panel for panel, _ in places}
    titles = "; ".join(title for panel, title in grid.titles.items() if panel in panels)
    where = f" [{titles}]" if panels != whole.keys() else ""
    if places == {(panel, seq) for panel in panels for seq in whole[panel]}:
        return where
    return f" at {', '.join(map(format_count, sorted({seq for _, seq in places})))}{where}"


def shorten(reason: str) -> str:
    return textwrap.shorten(reason, REASON_WIDTH, placeholder=" …")


def record_notes(grid: CaseGrid) -> list[str]:
    """The notes of every chart: semantics, expected failures, failures and their reasons, warnings."""
    return [
        *([] if grid.suite.baseline in {cell.label for cell in grid.cells} else semantics_notes(grid)),
        *bound_notes(grid),
        *gather_remarks(grid, _comparability(grid)),
        *gather_remarks(grid, _expectations(grid)),
        *failure_notes(grid),
        *gather_remarks(grid, (Remark.of(cell, shorten(warning)) for cell, warning in _warnings(grid))),
    ]


def failure_notes(grid: CaseGrid) -> list[str]:
    """The failures and their reasons."""
    return gather_remarks(grid, _failures(grid))


def semantics_notes(grid: CaseGrid) -> list[str]:
    """The implementations by semantics, if these differ; with a baseline its comparisons have these notes."""
    groups = by_meaning(grid.cells)
    return [f"not mathematically equivalent to each other: {'; '.join(groups)}"] if len(groups) > 1 else []


def bound_notes(grid: CaseGrid) -> list[str]:
    """The bounds that authors state for their implementations' results."""
    remarks = (
        Remark.of(cell, sentence) for cell in grid.cells for sentence in state_bound(cell.record.bound)
    )
    return gather_remarks(grid, remarks)


def _comparability(grid: CaseGrid) -> list[Remark]:
    """The notes of the comparisons, without program hashes, which differ from length to length."""
    elsewhere = {warning for _, warning in _warnings(grid)}
    elsewhere |= {sentence for cell in grid.cells for sentence in state_bound(cell.record.bound)}
    return [
        Remark(re.sub(r" \(\w+ hash \w+\)", "", note), compared.implementation, compared.panel, compared.seq)
        for compared in grid.suite.comparisons
        for note in compared.notes
        if note not in elsewhere
    ]


def _expectations(grid: CaseGrid) -> Iterable[Remark]:
    for cell in grid.cells:
        if any(record.expected and record.status == "incorrect" for record in cell.records):
            yield Remark.of(cell, "incorrect, as expected")
        elif any(record.expected and record.unexpected for record in cell.records):
            yield Remark.of(cell, "expected to be incorrect, but passed its contract")


def _failures(grid: CaseGrid) -> Iterable[Remark]:
    """The failures, each with its reason."""
    for cell in grid.cells:
        if cell.failed:
            yield Remark.of(cell, f"{status_words(cell.status)}: {shorten(cell.failed.reason or '')}")


def _warnings(grid: CaseGrid) -> list[tuple[CaseResult, str]]:
    """Every warning about a timing, with its case."""
    return [
        (cell, warning)
        for cell in grid.cells
        for record in cell.records
        if record.timing is not None
        for warning in record.timing.warnings
    ]


def speedup_estimate(c: Comparison) -> Estimate:
    return Estimate(c.speedup, c.low, c.high, c.samples, c.unit, c.reason)


def interval_notes(
    estimates: Iterable[Estimate], drawn: str = "bands and bars", needs: str = ""
) -> list[str]:
    """Sentences on the sampling unit of the intervals (`drawn` as these), and on values without one."""
    valued = [estimate for estimate in estimates if estimate.value is not None]
    with_interval = [e for e in valued if e.low is not None and e.high is not None]
    over = dict.fromkeys(_OVER[e.unit] for e in with_interval if e.unit in _OVER)
    notes = [f"{drawn}: 95 % intervals {' or '.join(over)}"] if over else []
    # Without each point's number of rounds, so that points share a note.
    without = Counter(
        needs or (required(e.unit) if e.unit else "too few samples")
        for e in valued
        if e.low is None or e.high is None
    )
    return notes + [f"no interval at {n} point{'s' * (n > 1)}: {why}" for why, n in without.items()]
