"""Reports of verdicts on claims: JSON data, terminal tables and Markdown pages.

docs/CLAIMS.md and docs/CLAIMS_CONTEXT.md contain no date, duration or machine, so a second run does not
change them. Figures from the host's compiler may differ on another processor; `alike` allows this.
"""

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from harness.catalog.accelerators import HOST, target
from harness.claims import wording
from harness.claims.model import AGAINST, VERDICTS, Claim, ClaimVerdict, FigureResult, Word
from harness.claims.quantity import VARIES
from harness.claims.wording import column_texts, tolerance_text
from harness.core.grouped import collected, grouped
from harness.core.shown_text import clean_text
from harness.core.units import format_count
from harness.core.workload import canonical
from harness.report.tables.cells import Cell
from harness.report.tables.render import Legend, Page, print_pages
from harness.report.tables.table_data import Column, TableData
from harness.report.templates import fill, without_gaps

TITLES = ("figure", "published", "follows from it", "found here")
COLUMNS = tuple(Column(title, right=False, folds=True) for title in TITLES)
NO_FIGURE = (Cell("no figure"), Cell(""), Cell(""), Cell(""))


def print_claims(console: Console, verdicts: Sequence[ClaimVerdict]) -> None:
    """Print the totals, then the verdict, sentence and figures of each claim."""
    console.print(Text(totals(verdicts), style="bold"))
    console.print()
    print_pages(console, [_claim_page(verdict) for verdict in verdicts], Legend())


def _claim_page(verdict: ClaimVerdict) -> Page:
    rows: list[tuple[Cell, ...]] = []
    for result in verdict.results:
        where = f" at {result.figure.row}" if result.figure.row else ""
        rows.append(tuple(map(Cell, (f"{result.figure.name}{where}", *column_texts(result)))))
    expected = f" (expected {verdict.claim.expect})" if verdict.unexpected else ""
    title = f"{verdict.claim.name}: {verdict.word}{expected}"
    return Page((TableData(title, COLUMNS, tuple(rows) or (NO_FIGURE,)),), (verdict.sentence,))


def totals(verdicts: Sequence[ClaimVerdict]) -> str:
    """`31 claims: 12 reproduced, 3 contradicted, …`, in the order of the verdicts; context is not counted."""
    counted = [verdict for verdict in verdicts if not verdict.claim.context]
    counts = [(sum(verdict.word == word for verdict in counted), word) for word in VERDICTS]
    listed = ", ".join(f"{count} {word}" for count, word in counts if count)
    text = f"{len(counted)} {'claim' if len(counted) == 1 else 'claims'}{': ' if listed else ''}{listed}"
    context = len(verdicts) - len(counted)
    return f"{text}; {context} more for context" if context else text


def claims_data(verdicts: Sequence[ClaimVerdict]) -> dict[str, Any]:
    """All data of every claim, without rounding.

    A figure's `kind` is `compared`, `bounded` or `shown`; `published` is a number or both ends of a range.
    """
    return {"claims": [_claim_data(verdict) for verdict in verdicts]}


def _claim_data(verdict: ClaimVerdict) -> dict[str, Any]:
    claim, table = verdict.claim, verdict.claim.table
    sources = [
        {**_fields_of(citation.source, "title", "of", "version", "url"), **_fields_of(citation, "lines")}
        for citation in claim.sources
    ]
    return {
        "id": claim.name,
        **_fields_of(claim, "family", "says"),
        "sources": sources,
        "hardware": claim.hardware,
        "targets": claim.targets,
        "shape": claim.given,
        "verdict": verdict.word,
        **_fields_of(verdict, "judged", "sentence"),
        **_fields_of(claim, "headline", "needs"),
        "context": claim.context,
        **_fields_of(claim, "expect"),
        "unexpected": verdict.unexpected,
        "incomplete": verdict.incomplete or None,
        "figures": [_figure_data(result) for result in verdict.results],
        "table": table and _fields_of(table, "id", "columns", "units", "rows"),
    }


def _fields_of(thing: object, *names: str) -> dict[str, Any]:
    """The named fields of an object; an empty text is None."""
    values = {name: getattr(thing, name) for name in names}
    return {name: None if value == "" else value for name, value in values.items()}


def _figure_data(result: FigureResult) -> dict[str, Any]:
    figure = result.figure
    columns = ("published", "follows", "found", "at_least", "at_most")
    values = {name: None if (side := result.side(name)) is None else side.value for name in columns}
    if len(figure.published) > 1:
        values["published"] = [end.value for end in figure.published]
    return {
        "name": figure.name,
        "kind": "bounded" if figure.bounded else "compared" if figure.compared else "shown",
        "unit": figure.unit or None,
        **values,
        "within": figure.within[0],
        "premise": figure.premise,
        **_fields_of(result, "agrees"),
        **_fields_of(figure, "row"),
        **_fields_of(result, "rows"),
        "method": result.by or ["arithmetic"],
        **_fields_of(result, "targets", "missing"),
        "tolerance": tolerance_text(result) or None,
    }


TEMPLATE = Path(__file__).with_name("page.md.j2")
PAGES: Mapping[str, bool] = {"CLAIMS.md": False, "CLAIMS_CONTEXT.md": True}  # whether it is for context
ABSENT = "–"
HEADLINES = 10  # sentences at the top of the page
TAG = re.compile(r"<(?=[A-Za-z/!?])")  # Markdown would treat it as HTML
DRIFT = 0.05  # allowed relative difference of the host compiler's numbers between processors
_PART = re.compile(r"^### (\S+/\S+)$", re.MULTILINE)
_VARYING = re.compile(rf"{VARIES}(-?\d[\d\u202f]*(?:\.\d+)?(?:e-?\d+)?)(?: ([KMGT]iB|B)\b)?")
_SCALES = {"": 1, "B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_SENTENCE = "- verdict: "
_TOLERANCE = re.compile(r" \| (\d+(?:\.\d+)?) %(?: \([^|]*\))? \| [^|]* \|$")


def page(verdicts: Sequence[ClaimVerdict], versions: Mapping[str, str], *, context: bool = False) -> str:
    """Text of the claims page, or of the context page.

    `versions` are those of compilers and torch for which the figures are exact, by name.
    """
    shown = [verdict for verdict in verdicts if verdict.claim.context == context]
    doubted = [verdict for verdict in shown if verdict.word in (*AGAINST, Word.VACUOUS)]
    headlined = [verdict for verdict in doubted if verdict.claim.headline][:HEADLINES]
    named = {verdict.claim.name for verdict in headlined}
    others = [verdict for verdict in shown if verdict.claim.name not in named]
    text = fill(
        TEMPLATE,
        str,  # texts of a claims.py are Markdown
        context=context,
        verdicts=shown,
        exact_for=", ".join(f"{name} {version}" for name, version in versions.items()),
        headlined=headlined,
        others_with=lambda *words: [verdict for verdict in others if verdict.word in words],
        missing=collected((why, verdict.claim) for verdict in shown if (why := _open_question(verdict))),
        families=grouped(shown, lambda verdict: verdict.claim.family),
        count=[verdict.word for verdict in shown].count,
        drift=f"{100 * DRIFT:g} %",
        totals=totals,
        disagreement=wording.disagreement,
        anchor=_anchor,
        shape=_shape,
        extras=_extras,
        cells=_cells,
        cell=_cell,
    )
    return TAG.sub("&lt;", clean_text(without_gaps(text))) + "\n"


def _open_question(verdict: ClaimVerdict) -> str:
    """Open question of a claim; empty if it is settled."""
    is_open = verdict.word == Word.NOT_CHECKABLE
    claim = verdict.claim
    open_question = claim.because if claim.not_checkable else verdict.sentence
    return claim.needs or (open_question if is_open else "")


def _anchor(name: str) -> str:
    """Anchor of a heading in Markdown viewers, which keep letters, digits, `-` and `_`."""
    return re.sub(r"[^\w -]", "", name.lower()).replace(" ", "-")


def _shape(claim: Claim) -> str:
    return ", ".join(
        f"{name} {format_count(value) if type(value) is int else canonical(value)}"
        for name, value in claim.given.items()
    )


def _extras(verdict: ClaimVerdict) -> str:
    """Install extras of this package that a claim's figures need."""
    kinds = {target(name).kind for result in verdict.results for name in result.targets} - {HOST}
    return ",".join(sorted(kinds))


def _cells(result: FigureResult) -> tuple[str, ...]:
    figure = result.figure
    name = f"{figure.name}, at {figure.row}" if figure.row else figure.name
    columns = [*wording.column_texts(result)]
    if result.missing:
        columns[2] = f"none: {result.missing}"
    if result.agrees is False:
        blamed = 1 if result.against == Word.INCONSISTENT and columns[1] else 2
        columns[blamed] += " ✗"
    by = wording.method_text(result) if result.by or figure.decides else ABSENT
    return name, *columns, wording.tolerance_text(result), by


def _cell(text: str) -> str:
    return re.sub(r"[ \t\r\n]+", " ", text.strip()).replace("|", "\\|") or ABSENT


def parts(text: str) -> dict[str, str]:
    """Split a page by claim; the text before a family's first claim has the family's name."""
    texts: dict[str, str] = {}
    for section in re.split(r"(?m)^(?=## )", text):
        pieces = _PART.split(section)
        heading = re.match(r"## (.+)", section)
        texts[heading[1] if heading else ""] = pieces[0].strip()
        texts |= {name: body.strip() for name, body in zip(pieces[1::2], pieces[2::2], strict=True)}
    return texts


def alike(known: str, new: str) -> bool:
    """Whether two texts of a page are equal, except numbers that depend on the processor.

    Numbers with ≈ may differ by their row's tolerance, or by DRIFT if that is larger. All other text must
    match exactly. A verdict's sentence quotes one of its rows, so the largest tolerance of the rows applies.
    """
    lines = known.split("\n"), new.split("\n")
    if len(lines[0]) != len(lines[1]):
        return False
    widest = max(map(_tolerance, lines[1]))
    return all(
        _alike(before, after, widest if after.startswith(_SENTENCE) else _tolerance(after))
        for before, after in zip(*lines, strict=True)
    )


def _tolerance(line: str) -> float:
    stated = _TOLERANCE.search(line)
    return max(DRIFT, float(stated[1]) / 100 if stated else 0.0)


def _alike(known: str, new: str, share: float) -> bool:
    if _VARYING.sub(VARIES, known) != _VARYING.sub(VARIES, new):
        return False
    pairs = zip(_VARYING.findall(known), _VARYING.findall(new), strict=True)
    return all(math.isclose(_amount(*a), _amount(*b), rel_tol=share) for a, b in pairs)


def _amount(number: str, unit: str) -> float:
    return float(number.replace("\u202f", "")) * _SCALES[unit]
