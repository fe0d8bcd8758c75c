"""Verdicts on published numbers as data, and as tables on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.analysis.claim_words import ours, theirs, tolerance
from harness.spec.claim import (
    CONTRADICTED,
    ELSEWHERE,
    IMPLAUSIBLE,
    NOT_CHECKABLE,
    REPRODUCED,
    VERDICTS,
    Read,
    Verdict,
)

STYLES = {
    REPRODUCED: "green",
    ELSEWHERE: "green",
    CONTRADICTED: "yellow",
    IMPLAUSIBLE: "yellow",
    NOT_CHECKABLE: "dim",
}


def print_claims(console: Console, verdicts: Sequence[Verdict]) -> None:
    """A table per family: the claim, theirs beside ours, the verdict with its sentence."""
    for family in dict.fromkeys(one.claim.family for one in verdicts):
        console.print(_table([one for one in verdicts if one.claim.family == family]))
        console.print()
    console.print(Text(totals(verdicts)))


def totals(verdicts: Sequence[Verdict]) -> str:
    """`31 claims: 12 reproduced, 3 contradicted, …`, in the order of the verdicts."""
    counts = [(sum(one.word == word for one in verdicts), word) for word in VERDICTS]
    listed = ", ".join(f"{count} {word}" for count, word in counts if count)
    return f"{len(verdicts)} {'claim' if len(verdicts) == 1 else 'claims'}{': ' if listed else ''}{listed}"


def _table(verdicts: Sequence[Verdict]) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 2, 1, 0), pad_edge=False, show_edge=False)
    figures = _grid(("figure", "theirs", "ours"))
    for title, ratio in (("claim", 3), (figures, 9), ("verdict", 6)):
        table.add_column(title, overflow="fold", ratio=ratio)
    for one in verdicts:
        own = _grid()
        for read in one.figures:
            own.add_row(_name(read), theirs(read), ours(read))
        table.add_row(one.claim.name, own, _told(one))
    return table


def _grid(heading: Sequence[str] = ()) -> Table:
    grid = Table.grid(padding=(0, 1, 0, 0), expand=True)
    for ratio in (5, 2, 2):
        grid.add_column(overflow="fold", ratio=ratio)
    if heading:
        grid.add_row(*heading)
    return grid


def _told(one: Verdict) -> Text:
    told = Text(one.word, style=STYLES[one.word])
    if one.unexpected:
        told.append(f" (expected {one.claim.expect})", style="bold red")
    told.append(f": {one.sentence}", style="not bold default")
    return told


def _name(read: Read) -> str:
    return f"{read.figure.name} at {read.row}" if read.row else read.figure.name


def claims_data(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Everything about every claim; numbers as they are, nothing rounded.

    A figure's `kind` says which numbers it has: `implied` with `at_least` and `at_most` where it is bounded,
    else `theirs` and `ours`, of which one is null where it is shown only.
    """
    return {"claims": [_data(one) for one in verdicts]}


def _data(one: Verdict) -> dict[str, Any]:
    claim = one.claim
    return {
        "id": claim.name,
        "family": claim.family,
        "says": claim.says,
        "source": claim.source,
        "version": claim.version,
        "hardware": claim.hardware,
        "target": claim.target,
        "shape": {name: claim.shape[name] for name in claim.given},
        "verdict": one.word,
        "sentence": one.sentence,
        "expect": claim.expect,
        "unexpected": one.unexpected,
        "incomplete": one.incomplete or None,
        "figures": [_figure(read) for read in one.figures],
        "table": None
        if claim.table is None
        else {
            "columns": claim.table.columns,
            "units": claim.table.units,
            "rows": claim.table.rows,
        },
    }


def _figure(read: Read) -> dict[str, Any]:
    figure = read.figure
    published = read.theirs if read.upto is None else [read.theirs, read.upto]
    compared = {"theirs": published, "ours": read.ours, "within": figure.within}
    bounded = {"implied": read.ours, "at_least": read.theirs, "at_most": read.upto}
    return {
        "name": figure.name,
        "kind": "bounded" if figure.bounded else "compared" if figure.compared else "shown",
        "unit": figure.unit or None,
        **(bounded if figure.bounded else compared),
        "agrees": read.agrees,
        "row": read.row or None,
        "method": list(read.by) or ["arithmetic"],
        "targets": list(read.targets),
        "missing": read.missing or None,
        "tolerance": tolerance(read) or None,
    }
