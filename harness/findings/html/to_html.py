"""The page: the document's sections as they are, and behind each row of a case what it rests on."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from harness.analysis.suite_results import CaseResult, SuiteResults
from harness.core.metric import FLOPS, TEMP_BYTES
from harness.core.shown_text import escape_html
from harness.core.units import format_count
from harness.findings.document import Document, FindingsTable
from harness.findings.html import case_details
from harness.findings.html.inline_svg import inline_svg, sample_strip
from harness.findings.html.sortable import script_data
from harness.findings.kept_run import KeptRun
from harness.report.format import exact_figure, short_label
from harness.report.templates import fill

FOLDER = Path(__file__).parent
# By column: what its cells are sorted by, where that is not their text.
SORT_KEYS: Mapping[str, Callable[[CaseResult], float | None]] = {
    "seq": lambda row: row.seq,
    "time": lambda row: row.time.value,
    "95 %": lambda row: row.time.low,
    "speedup": lambda row: row.compared.speedup if row.compared else 1.0,
    "temp": lambda row: row.static.temp_bytes if row.static else None,
}


@dataclass(frozen=True)
class BackedCase:
    """A case with the panel and the run that it is of."""

    run: KeptRun
    panel: SuiteResults
    row: CaseResult


def to_html(document: Document, runs: Sequence[KeptRun], title: str, bundle: str | None) -> str:
    """The page of a document on these runs. `bundle` is the script that sorts, if there is any."""
    cases = [BackedCase(run, panel, row) for run in runs for panel in run.panels for row in panel.cases]
    named = {case.run.name_records(case.row.records): case for case in cases}
    backed = {name: case for name, case in named.items() if name}
    shown: set[str] = set()

    def cases_of(table: FindingsTable) -> dict[str, BackedCase]:
        """The cases in a table's rows, by what names their records in the last column."""
        return {row[-1].text: backed[row[-1].text] for row in table.rows if row[-1].text in backed}

    def first_shown(names: Sequence[str]) -> list[str]:
        """Those that do not stand in the page yet: a case of two suites is in the table of each."""
        fresh = [name for name in names if name not in shown]
        shown.update(fresh)
        return fresh

    return fill(
        FOLDER / "page.html.j2",
        escape_html,
        document=document,
        title=title,
        backed=backed,
        cases_of=cases_of,
        first_shown=first_shown,
        number=count(1).__next__,
        style=(FOLDER / "page.css").read_text(encoding="utf-8"),
        script=(FOLDER / "page.js").read_text(encoding="utf-8"),
        bundle=script_data(bundle or ""),
        anchor=_anchor,
        sort_key=_sort_key,
        inline_svg=inline_svg,
        sample_strip=sample_strip,
        details=case_details,
        exact_figure=exact_figure,
        format_count=format_count,
        short_label=short_label,
        FLOPS=FLOPS,
        TEMP_BYTES=TEMP_BYTES,
    )


def _anchor(records: str) -> str:
    return f"case-{records.replace(' ', '-')}"


def _sort_key(column: str, row: CaseResult) -> str | None:
    """What a cell is sorted by, empty where it has no value; None for a column sorted by its text."""
    if column not in SORT_KEYS:
        return None
    value = SORT_KEYS[column](row)
    return "" if value is None else f"{value:.9g}"
