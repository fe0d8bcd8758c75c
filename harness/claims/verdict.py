"""The verdict on a claim: a reading of each of its figures, and one word for all of them."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from harness.catalog.catalog import Catalog
from harness.claims.evaluate import Evaluator
from harness.claims.expression import Value
from harness.claims.model import (
    AGAINST,
    ANY,
    Claim,
    ClaimEvidence,
    Figure,
    FigureValue,
    Missing,
    OutsideTableError,
    Reading,
    Verdict,
    Word,
)
from harness.claims.wording import arithmetic_text, sentence, varies
from harness.core.errors import UsageError
from harness.core.units import format_count

ROUNDING = 1e-12  # relative: the error that floating-point arithmetic may add to equal figures
NO_ROW = "no row of the table holds the numbers that it needs"


def judge(claim: Claim, catalog: Catalog, evidence: ClaimEvidence) -> Verdict:
    """The verdict on a claim. UsageError, with its place, for a figure that makes no sense."""
    results = [_read_figure(figure, claim, catalog, evidence) for figure in claim.figures]
    readings = tuple(reading for reading, _ in results)
    word = _word(claim, readings)
    incomplete = next((lacking for _, lacking in results if lacking), "")
    return Verdict(claim, word, sentence(claim, word, readings), readings, incomplete)


def _word(claim: Claim, readings: Sequence[Reading]) -> Word:
    """The verdict's word: a disagreement outweighs a missing figure, which outweighs agreement."""
    decided = [reading for reading in readings if reading.figure.decides]
    wrong = [reading for reading in decided if reading.agrees is False]
    if wrong:
        holds = not claim.not_checkable and all(reading.agrees is not None for reading in decided)
        return _word_against(claim, wrong, holds=holds)
    compared = [reading for reading in decided if reading.figure.compared]
    if claim.not_checkable or not compared or any(reading.agrees is None for reading in decided):
        return Word.NOT_CHECKABLE
    if claim.needs or not any(reading.tested for reading in decided):
        return Word.ADDS_UP
    targets = {target for reading in decided for target in reading.targets}
    published_hardware = claim.hardware == ANY or targets == set(claim.targets)
    return Word.REPRODUCED if published_hardware else Word.ELSEWHERE


def _word_against(claim: Claim, wrong: Sequence[Reading], *, holds: bool) -> Word:
    """The strongest verdict that the disagreeing figures allow.

    A figure compiled for one device does not contradict a number published for another, so a disagreement
    counts only where every device that the published hardware may have been disagrees. A claim that fails
    only its premises is vacuous, provided that all its other figures are known to hold.
    """
    for word in AGAINST:
        disagreeing = [reading for reading in wrong if reading.against == word and not reading.figure.premise]
        if disagreeing and (word == Word.INCONSISTENT or _covers(claim, disagreeing)):
            return word
    premises = [reading for reading in wrong if reading.figure.premise]
    if holds and len(premises) == len(wrong) and _covers(claim, premises):
        return Word.VACUOUS
    return Word.NOT_CHECKABLE


def _covers(claim: Claim, readings: Sequence[Reading]) -> bool:
    if claim.hardware == ANY or any(not reading.targets for reading in readings):
        return True
    targets = {target for reading in readings for target in reading.targets}
    return bool(claim.targets) and targets >= set(claim.targets)


def _read_figure(
    figure: Figure, claim: Claim, catalog: Catalog, evidence: ClaimEvidence
) -> tuple[Reading, str]:
    """(a figure at the row that disagrees most, what this machine lacks for any of its rows; empty: nothing).

    A row that disagrees outweighs rows without a value; these outweigh rows that agree.
    """
    evaluator = Evaluator(claim, catalog, evidence)
    known: list[tuple[bool, float, Reading]] = []
    blank: list[Reading] = []
    lacking = ""
    for row, names in claim.points(figure):
        if not all(expression.names() <= names.keys() for expression in figure.expressions()):
            continue
        try:
            reading, missing = _reading_at(figure, names, evaluator)
            reading = replace(reading, row=format_count(int(row)) if row.isdigit() else row)
            if missing is not None:
                blank.append(reading)
                lacking = lacking or (str(missing) if missing.incomplete else "")
            else:
                distance, agrees = _judge_reading(reading)
                known.append((agrees is False, distance, replace(reading, agrees=agrees)))
        except OutsideTableError:
            continue
        except (ValueError, UsageError) as error:
            raise UsageError(f"{figure.where}: figure {figure.name}: {error}") from None
    chosen = Reading(figure, missing=NO_ROW if figure.decides else "")
    if known:
        chosen = max(known, key=lambda row: row[:2])[2]
    if blank and chosen.agrees is not False:
        chosen = blank[0]
    found = replace(
        chosen,
        rows=len(known),
        against=_stands_for(figure, chosen, evaluator) if chosen.agrees is False else "",
        by=tuple(evaluator.by),
        targets=tuple(evaluator.targets),
        tested=evaluator.tested,
    )
    return found, lacking


def _stands_for(figure: Figure, reading: Reading, evaluator: Evaluator) -> str:
    """The verdict that a figure's disagreement stands for."""
    if figure.bounded:
        verdict = Word.CONTRADICTED if figure.found is not None else Word.INCONSISTENT
        return Word.IMPLAUSIBLE if evaluator.bounded_by_hardware else verdict
    published, follows = reading.published, reading.follows
    own = published and follows and _distance(published, reading.upto, follows) > figure.within + ROUNDING
    return Word.INCONSISTENT if own else Word.CONTRADICTED  # the document's own numbers differ, or ours do


def _reading_at(
    figure: Figure, names: Mapping[str, Value], evaluator: Evaluator
) -> tuple[Reading, Missing | None]:
    """(the values of a figure at one row, why any of them is missing: the others are still shown)."""
    single = ((name, getattr(figure, name)) for name in ("follows", "found", "at_most", "at_least"))
    expressions = dict(zip(("published", "upto"), figure.published, strict=False)) | dict(single)
    sides: dict[str, FigureValue] = {}
    missing: Missing | None = None
    for name, expression in expressions.items():
        try:
            if expression is not None:
                text = arithmetic_text(expression, names, evaluator.value)
                value = evaluator.value(expression, names)
                sides[name] = FigureValue(value, text, varies(expression.text))
        except OutsideTableError:
            raise
        except Missing as reason:
            missing = missing or reason
    return replace(Reading(figure, missing=str(missing or "")), **sides), missing


def _judge_reading(reading: Reading) -> tuple[float, bool | None]:
    """(distance as a share or a multiple of a bound; whether it agrees, None where nothing is decided)."""
    if reading.figure.bounded:
        return _judge_bound(reading)
    if not reading.figure.compared:
        return 0.0, None
    distance = max(_distances(reading))
    return distance, distance <= reading.figure.within + ROUNDING


def _distances(reading: Reading) -> Iterator[float]:
    """The distance of each pair of columns, relative to the first of the pair."""
    published, follows, found = reading.published, reading.follows, reading.found
    if published is not None:
        for side in (follows, found):
            if side is not None:
                yield _distance(published, reading.upto, side)
    elif follows is not None and found is not None:
        yield _distance(follows, None, found)


def _distance(measure: FigureValue, upto: FigureValue | None, other: FigureValue) -> float:
    """The distance of a value from a range, as a share of the nearer end; infinite for unequal words."""
    low, high, value = measure.value, (upto or measure).value, other.value
    if any(isinstance(side, bool | str) for side in (low, high, value)):
        if {type(low), type(high)} != {type(value)}:
            raise ValueError(f"{low} is compared with {value}: a number is compared with a number")
        return 0.0 if low == value else math.inf
    first, last, number = float(low), float(high), float(value)
    if first > last:
        raise ValueError(f"the range {low} to {high} is empty")
    distance = max(first - number, number - last, 0.0)
    end = first if number < first else last
    return distance / abs(end) if distance and end else (math.inf if distance else 0.0)


def _judge_bound(reading: Reading) -> tuple[float, bool]:
    """(the number as a multiple of its bound, whether it keeps to it)."""
    side = reading.published or reading.follows or reading.found
    if side is None:
        raise ValueError("there is no number to hold to its bound")
    number = _number(side)
    most, least = (None if bound is None else _number(bound) for bound in (reading.at_most, reading.at_least))
    over = number / most if most else -math.inf if most is None else math.inf
    under = -math.inf if least is None else (least / number if number else math.inf)
    keeps = (most is None or number <= most + abs(most) * ROUNDING) and (
        least is None or number >= least - abs(least) * ROUNDING
    )
    return max(over, under), keeps


def _number(side: FigureValue) -> float:
    if isinstance(side.value, bool | str):
        why = f"{side.value} is not a number, so it bounds nothing"
        raise ValueError(why)  # noqa: TRY004 - of the file, not of a caller
    return side.value
