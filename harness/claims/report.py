"""Verdicts on published numbers as data, and as tables on a terminal."""

from collections.abc import Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.claims.model import AGAINST, VERDICTS, Reading, Verdict, Word
from harness.claims.wording import column_texts, tolerance_text

COLUMNS = ("figure", "published", "follows from it", "found here")


def print_claims(console: Console, verdicts: Sequence[Verdict]) -> None:
    """The totals, then a table per family: the claim, the three columns, the verdict with its sentence."""
    console.print(Text(totals(verdicts), style="bold"))
    console.print()
    for family in dict.fromkeys(verdict.claim.family for verdict in verdicts):
        console.print(_table([verdict for verdict in verdicts if verdict.claim.family == family]))
        console.print()


def totals(verdicts: Sequence[Verdict]) -> str:
    """`31 claims: 12 reproduced, 3 contradicted, …`, in the order of the verdicts; context is not counted."""
    counted = [verdict for verdict in verdicts if not verdict.claim.context]
    counts = [(sum(verdict.word == word for verdict in counted), word) for word in VERDICTS]
    listed = ", ".join(f"{count} {word}" for count, word in counts if count)
    text = f"{len(counted)} {'claim' if len(counted) == 1 else 'claims'}{': ' if listed else ''}{listed}"
    context = len(verdicts) - len(counted)
    return f"{text}; {context} more for context" if context else text


def _table(verdicts: Sequence[Verdict]) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 2, 1, 0), pad_edge=False, show_edge=False)
    figures = _grid(COLUMNS)
    for title, ratio in (("claim", 3), (figures, 10), ("verdict", 6)):
        table.add_column(title, overflow="fold", ratio=ratio)
    for verdict in verdicts:
        readings = _grid()
        for reading in verdict.readings:
            where = f" at {reading.row}" if reading.row else ""
            readings.add_row(f"{reading.figure.name}{where}", *column_texts(reading))
        table.add_row(verdict.claim.name, readings, _verdict_text(verdict))
    return table


def _grid(heading: Sequence[str] = ()) -> Table:
    grid = Table.grid(padding=(0, 1, 0, 0), expand=True)
    for ratio in (5, 3, 4, 4):
        grid.add_column(overflow="fold", ratio=ratio)
    if heading:
        grid.add_row(*heading)
    return grid


def _verdict_text(verdict: Verdict) -> Text:
    text = Text(verdict.word, style=_style(verdict.word))
    if verdict.unexpected:
        text.append(f" (expected {verdict.claim.expect})", style="bold red")
    text.append(f": {verdict.sentence}", style="not bold default")
    return text


def _style(word: Word) -> str:
    if word in (*AGAINST, Word.VACUOUS):
        return "yellow"
    return "dim" if word in {Word.NOT_CHECKABLE, Word.CONTEXT} else "green"


def claims_data(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Everything about every claim; numbers as they are, nothing rounded.

    A figure's `kind` is `compared`, `bounded` or `shown`; `published` is a number or both ends of a range.
    """
    return {"claims": [_claim_data(verdict) for verdict in verdicts]}


def _claim_data(verdict: Verdict) -> dict[str, Any]:
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
        "shape": {name: claim.shape[name] for name in claim.given},
        "verdict": verdict.word,
        **_fields_of(verdict, "judged", "sentence"),
        **_fields_of(claim, "headline", "needs"),
        "context": claim.context,
        **_fields_of(claim, "expect"),
        "unexpected": verdict.unexpected,
        "incomplete": verdict.incomplete or None,
        "figures": [_figure_data(reading) for reading in verdict.readings],
        "table": table and _fields_of(table, "id", "columns", "units", "rows"),
    }


def _fields_of(thing: object, *names: str) -> dict[str, Any]:
    """The named fields of an object; an empty text is None."""
    values = {name: getattr(thing, name) for name in names}
    return {name: None if value == "" else value for name, value in values.items()}


def _figure_data(reading: Reading) -> dict[str, Any]:
    figure = reading.figure
    sides = {
        name: getattr(reading, name) for name in ("published", "follows", "found", "at_least", "at_most")
    }
    values = {name: side and side.value for name, side in sides.items()}
    if reading.published and reading.upto:
        values["published"] = [reading.published.value, reading.upto.value]
    return {
        "name": figure.name,
        "kind": "bounded" if figure.bounded else "compared" if figure.compared else "shown",
        "unit": figure.unit or None,
        **values,
        **_fields_of(figure, "within", "premise"),
        **_fields_of(reading, "agrees", "row", "rows"),
        "method": reading.by or ["arithmetic"],
        **_fields_of(reading, "targets", "missing"),
        "tolerance": tolerance_text(reading) or None,
    }
