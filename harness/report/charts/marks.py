"""The symbols of the strip under a panel: what became of the cases that gave no figure."""

from collections.abc import Iterable

from harness.analysis.results import HOST, static_of
from harness.analysis.suite_results import CaseResult
from harness.core.units import format_bytes
from harness.report.charts.model import (
    CROSSOVER,
    DEVICE,
    DOES_NOT_FIT,
    FIRST_WIN,
    HOLLOW,
    LIGHT,
    LIMIT,
    NO_FIGURE,
    NO_RATIO,
    NOT_TIMED,
    OVERFLOW,
    Key,
    Mark,
    Panel,
)

MEANINGS = {
    "oom": "out of memory (bytes planned, if known)",
    "timeout": "timeout",
    "crashed": "crashed",
    "incorrect": "incorrect: not timed",
    "unsupported": "unsupported",
    "skipped": "skipped",
    NOT_TIMED: "ok, not timed",
    NO_RATIO: "did not fail, but has no speedup (see notes)",
    NO_FIGURE: "no static figure (see notes)",
    DOES_NOT_FIT: "does not fit the target's memory",
    CROSSOVER: "crossover, interpolated between lengths",
    FIRST_WIN: "first length from which it is faster (its interval, if any, above 1×)",
    HOLLOW: "planned, though the case gave no timing",
    OVERFLOW: "planned, but does not fit",
    LIGHT: "measured: resident high water (outputs count too)",
    LIMIT: "memory limit of a case (arguments and outputs count too)",
    DEVICE: "memory of one device; on the host, the limit of a case",
}


def failure_marks(cells: Iterable[CaseResult]) -> list[Mark]:
    """One mark per case that is not ok."""
    return [
        Mark(cell.label, cell.seq, cell.status, planned_texts(cell) if cell.status == "oom" else ())
        for cell in cells
        if cell.failed
    ]


def planned_texts(cell: CaseResult) -> tuple[str, ...]:
    """`264 GiB planned`, or shorter; nothing where there are no static figures."""
    static = static_of(cell.records, HOST)
    if static is None:
        return ()
    planned = static.planned_bytes if static.planned_bytes is not None else static.temp_bytes
    if planned is None:
        return ()
    return (f"{format_bytes(planned)} planned", format_bytes(planned))


def keys_of(panels: Iterable[Panel], *more: str) -> tuple[Key, ...]:
    """The legend of the symbols in use, in one order for all charts."""
    used = {mark.symbol for panel in panels for mark in panel.marks} | set(more)
    return tuple(Key(symbol, meaning) for symbol, meaning in MEANINGS.items() if symbol in used)
