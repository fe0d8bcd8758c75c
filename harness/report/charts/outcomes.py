"""The words in the outcome strip under a panel: what became of the cases that gave no figure."""

from collections.abc import Iterable

from harness.analysis.results import HOST, static_of
from harness.analysis.suite_results import CaseResult
from harness.core.units import format_bytes
from harness.report.charts.model import Outcome
from harness.report.format import status_words

DOES_NOT_FIT, NO_FIGURE, NO_RATIO, NOT_TIMED = "does not fit", "no figure", "no speedup", "not timed"


def failures(cells: Iterable[CaseResult]) -> list[Outcome]:
    """One per case that is not ok."""
    return [Outcome(cell.label, cell.seq, status_words(cell.status)) for cell in cells if cell.failed]


def planned_text(cell: CaseResult) -> str:
    """`264 GiB planned`; empty where there are no static figures."""
    static = static_of(cell.records, HOST)
    if static is None:
        return ""
    planned = static.planned_bytes if static.planned_bytes is not None else static.temp_bytes
    return f"{format_bytes(planned)} planned" if planned is not None else ""
