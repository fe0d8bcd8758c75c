"""Published numbers against ours: what each figure came to, and the verdict on its claim."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from harness.analysis.claim_words import sentence
from harness.analysis.expression import Evidence, Missing, Reader
from harness.catalog.catalog import Catalog
from harness.spec.claim import (
    ANY,
    CONTRADICTED,
    ELSEWHERE,
    IMPLAUSIBLE,
    NOT_CHECKABLE,
    REPRODUCED,
    Claim,
    Figure,
    Read,
    Verdict,
)
from harness.spec.errors import UsageError
from harness.spec.expression import Expression, Value
from harness.spec.units import format_count

ROUNDING = 1e-12  # relative: what floating-point arithmetic may add to a figure that is equal
NO_ROW = "no row of the table holds the numbers that it needs"


def judge(claim: Claim, catalog: Catalog, evidence: Evidence) -> Verdict:
    """The verdict on a claim. UsageError, with its place, for a figure that makes no sense."""
    read = [_read(figure, claim, catalog, evidence) for figure in claim.figures]
    reads = tuple(one for one, _ in read)
    word = _word(claim, reads)
    incomplete = next((lacking for _, lacking in read if lacking), "")
    return Verdict(claim, word, sentence(claim, word, reads), reads, incomplete)


def _word(claim: Claim, reads: tuple[Read, ...]) -> str:
    wrong = [one.figure for one in reads if one.agrees is False]
    if any(figure.bounded or figure.wrong for figure in wrong):
        return IMPLAUSIBLE
    if wrong:
        return CONTRADICTED
    decided = [one for one in reads if one.figure.decides]
    if claim.not_checkable or not decided or any(one.agrees is None for one in decided):
        return NOT_CHECKABLE
    targets = {target for one in decided for target in one.targets}
    own = claim.hardware == ANY or targets <= ({claim.target} if claim.target else set[str]())
    return REPRODUCED if own else ELSEWHERE


def _read(figure: Figure, claim: Claim, catalog: Catalog, evidence: Evidence) -> tuple[Read, str]:
    """A figure at the row that speaks most against it, and what this machine lacked for any of its rows.

    A row that disagrees outweighs rows that are not to be had; these outweigh rows that agree.
    """
    reader = Reader(claim, catalog, evidence)
    worst: tuple[float, Read] | None = None
    blank: Read | None = None
    lacking = ""
    for row, names in claim.points(figure):
        if not all(expression.names() <= names.keys() for expression in figure.expressions()):
            continue
        try:
            off, found, incomplete = _or_missing(figure, reader, names)
        except (ValueError, UsageError) as error:
            raise UsageError(f"{figure.where}: figure {figure.name}: {error}") from None
        lacking = lacking or incomplete
        found = replace(found, row=_named(row))
        if found.missing:
            blank = blank or found
        elif worst is None or off > worst[0]:
            worst = (off, found)
    chosen = worst[1] if worst else Read(figure, missing=NO_ROW if figure.decides else "")
    if blank and chosen.agrees is not False:
        chosen = blank
    return replace(chosen, by=tuple(reader.by), targets=tuple(reader.targets)), lacking


def _or_missing(figure: Figure, reader: Reader, names: Mapping[str, Value]) -> tuple[float, Read, str]:
    """What a figure comes to at one point, or what was published and why there is no more of it."""
    try:
        return *_at(figure, reader, names), ""
    except Missing as missing:
        read = _published(figure, reader, names)
        return 0.0, replace(read, missing=str(missing)), str(missing) if missing.incomplete else ""


def _published(figure: Figure, reader: Reader, names: Mapping[str, Value]) -> Read:
    """The published side alone, if it can be had."""
    try:
        return Read(
            figure,
            theirs=_maybe(figure.theirs, reader, names),
            upto=_maybe(figure.upto, reader, names),
            ours=_maybe(figure.implied, reader, names),
        )
    except Missing:
        return Read(figure)


def _maybe(expression: Expression | None, reader: Reader, names: Mapping[str, Value]) -> Value | None:
    return None if expression is None else reader.value(expression, names)


def _at(figure: Figure, reader: Reader, names: Mapping[str, Value]) -> tuple[float, Read]:
    """How far off a figure is at one point (in shares; of a bound: implied over it), and what it is there."""
    if figure.bounded:
        return _bounded(figure, reader, names)
    theirs = _maybe(figure.theirs, reader, names)
    upto = _maybe(figure.upto, reader, names)
    ours = _maybe(figure.ours, reader, names)
    if ours is None or theirs is None:
        return 0.0, Read(figure, theirs=theirs, upto=upto, ours=ours)
    off = _off(theirs, theirs if upto is None else upto, ours)
    agrees = off <= figure.within + ROUNDING
    return off, Read(figure, theirs=theirs, upto=upto, ours=ours, agrees=agrees)


def _off(low: Value, high: Value, ours: Value) -> float:
    """By which share of the nearer end ours lies outside; whole for words and truths that differ."""
    if any(isinstance(value, bool | str) for value in (low, high, ours)):
        if {type(low), type(high)} != {type(ours)}:
            raise ValueError(f"theirs is {low} and ours {ours}: a number is compared with a number")
        return 0.0 if low == ours else math.inf
    first, last, own = float(low), float(high), float(ours)
    if first > last:
        raise ValueError(f"the range {low} to {high} is empty")
    distance = max(first - own, own - last, 0.0)
    end = first if own < first else last
    return distance / abs(end) if distance and end else (math.inf if distance else 0.0)


def _bounded(figure: Figure, reader: Reader, names: Mapping[str, Value]) -> tuple[float, Read]:
    implied = _amount(figure.implied, reader, names)
    most, least = (_amount(bound, reader, names) for bound in (figure.at_most, figure.at_least))
    if implied is None:
        raise ValueError("nothing is implied")
    over = implied / most if most else -math.inf if most is None else math.inf
    under = -math.inf if least is None else (least / implied if implied else math.inf)
    fine = (most is None or implied <= most * (1 + ROUNDING)) and (
        least is None or implied >= least * (1 - ROUNDING)
    )
    return max(over, under), Read(figure, theirs=least, upto=most, ours=implied, agrees=fine)


def _amount(expression: Expression | None, reader: Reader, names: Mapping[str, Value]) -> float | None:
    value = _maybe(expression, reader, names)
    if isinstance(value, bool | str):
        why = f"{value} is not a number, so it bounds nothing"
        raise ValueError(why)  # noqa: TRY004 - of the file, not of a caller
    return value


def _named(row: str) -> str:
    """A row's first cell as people write it: `65536` is 64Ki."""
    return format_count(int(row)) if row.isdigit() else row
