"""The page: the document's sections as they are, and behind each row of a case what it rests on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.analysis.suite_results import CaseResult, SuiteResults
from harness.findings.document import Document, FindingsTable, Part, Section, Slot
from harness.findings.html.case_details import case_details
from harness.findings.html.element import Markup, bullets, element, fold, join
from harness.findings.html.inline_svg import inline_svg
from harness.findings.html.sortable import script_elements
from harness.findings.kept_run import KeptRun
from harness.report.format import short_label

# By column: what its cells are sorted by, where that is not their text.
SORT_KEYS: Mapping[str, Callable[[CaseResult], float | None]] = {
    "seq": lambda row: row.seq,
    "time": lambda row: row.time.value,
    "95 %": lambda row: row.time.low,
    "speedup": lambda row: row.compared.speedup if row.compared else 1.0,
    "temp": lambda row: row.static.temp_bytes if row.static else None,
}
BESIDE = ("time / other", "it is")  # columns that a script fills
# Nothing of the page may come from elsewhere, whatever a record says.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline' blob:"
HEAD = f"""<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
"""


@dataclass(frozen=True)
class BackedCase:
    """A case with the panel and the run that it is of."""

    run: KeptRun
    panel: SuiteResults
    row: CaseResult


@dataclass
class PageState:
    """The cases by what names their records in a table, and what stands in the page already."""

    backed: Mapping[str, BackedCase]
    anchors: set[str] = field(default_factory=set[str])
    numbered: int = 0

    def number(self, what: str) -> str:
        """A name that the page has once."""
        self.numbered += 1
        return f"{what}-{self.numbered}"


def to_html(document: Document, runs: Sequence[KeptRun], title: str, bundle: str | None) -> str:
    """The page of a document on these runs. `bundle` is the script that sorts, if there is any."""
    backed = {
        run.name_records(row.records): BackedCase(run, panel, row)
        for run in runs
        for panel in run.panels
        for row in panel.cases
    }
    state = PageState({name: case for name, case in backed.items() if name})
    links = bullets(element("a", section.title, href=f"#{section.key}") for section in document.sections)
    style = Markup((Path(__file__).parent / "page.css").read_text(encoding="utf-8"))
    head = element("head", Markup(HEAD), element("title", title), element("style", style))
    body = element(
        "body",
        element("header", element("h1", title), element("nav", links, aria_label="Sections")),
        element("main", *(_section(section, state) for section in document.sections)),
        script_elements(bundle),
    )
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def _section(section: Section, state: PageState) -> Markup:
    parts = [_part(part, state) for part in section.parts]
    return element("section", element("h2", section.title), *parts, id=section.key)


def _part(part: Part, state: PageState) -> Markup:
    pieces = [
        element("h3", part.heading) if part.heading else "",
        element("p", element("strong", part.lead)) if part.lead else "",
        bullets(part.sentences),
        _table(part.table, part.heading, state) if part.table else "",
        element("pre", element("code", part.command)) if part.command else "",
    ]
    if part.picture is not None:
        svg = inline_svg(part.picture.svg, part.picture.says, f"{state.number('chart')}-")
        pieces.append(element("figure", svg))
    return join(pieces, "\n")


def _table(table: FindingsTable, caption: str, state: PageState) -> Markup:
    """A table; one of cases has links in its last column, a choice of another side, and details below."""
    cases = [state.backed.get(row[-1].text) for row in table.rows]
    known = [case for case in cases if case is not None]
    reasons: dict[str, int] = {}
    head = [element("th", name, scope="col") for name in table.columns]
    head += [element("th", name, scope="col", class_="beside") for name in BESIDE if known]
    rows = [_row(table.columns, row, case, reasons) for row, case in zip(table.rows, cases, strict=True)]
    choice = state.number("choice") if known else None
    body = (
        element("thead", element("tr", *head)),
        Markup("\n"),
        element("tbody", join(rows, "\n")),
    )
    kind = "cases" if known else None
    shown = element("table", *body, class_=kind, data_choice=choice, aria_label=caption or "table")
    notes = [element("li", text, value=str(number)) for text, number in reasons.items()]
    pieces = (
        _choice(known, choice) if choice else "",
        element("div", shown, class_="scroll", tabindex="0"),
        element("p", table.caption) if table.caption else "",
        fold("Notes", element("ol", *notes)) if notes else "",
        _details(known, state),
    )
    return join(pieces, "\n")


def _row(
    columns: Sequence[str], row: Sequence[Slot], case: BackedCase | None, reasons: dict[str, int]
) -> Markup:
    cells: list[Markup] = []
    for name, slot in zip(columns, row, strict=True):
        shown: list[str] = [f"none: {slot.empty}" if slot.empty else slot.text]
        order = None
        if case is not None and slot is row[-1]:
            shown = [element("a", *shown, href=f"#{_anchor(slot.text)}")]
        if case is not None and name in SORT_KEYS:
            value = SORT_KEYS[name](case.row)
            order = "" if value is None else f"{value:.9g}"
        if slot.reason:
            shown.append(element("sup", str(reasons.setdefault(slot.reason, len(reasons) + 1))))
        cells.append(element("td", *shown, data_order=order, class_="empty" if slot.empty else None))
    cells += [element("td", class_="beside", data_order="") for _ in BESIDE if case is not None]
    return element("tr", *cells)


def _anchor(records: str) -> str:
    return f"case-{records.replace(' ', '-')}"


def _choice(cases: Sequence[BackedCase], name: str) -> Markup:
    """Hidden until a script shows it: the same ratios are in the details of each case."""
    labels = dict.fromkeys(case.row.label for case in cases)
    options = (element("option", short_label(label), value=label) for label in labels)
    select = element("select", element("option", "nothing", value=""), *options)
    return element("p", element("label", "compare with ", select), class_="choice", id=name, hidden="")


def _details(cases: Sequence[BackedCase], state: PageState) -> Markup:
    """Those that do not stand in the page yet: a case of two suites is in the table of each."""
    shown: list[Markup] = []
    for case in cases:
        anchor = _anchor(case.run.name_records(case.row.records))
        if anchor not in state.anchors:
            state.anchors.add(anchor)
            shown.append(case_details(case.run, case.panel, case.row, anchor))
    title = f"Behind {len(shown)} rows: readings, verdicts, plans, code"
    return fold(title, join(shown, "\n")) if shown else Markup()
