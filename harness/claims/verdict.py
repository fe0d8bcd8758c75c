"""The verdict on a claim: its figures, a reading of each, and one word for all of them."""

import math
from collections.abc import Iterator, Sequence

from harness.catalog.catalog import Catalog
from harness.claims.answers import Answers
from harness.claims.model import (
    AGAINST,
    ANY,
    Claim,
    ClaimEvidence,
    Figure,
    Need,
    Reading,
    Verdict,
    Word,
    placed,
)
from harness.claims.quantity import TABLE, Quantity
from harness.claims.wording import sentence
from harness.core.errors import UsageError
from harness.core.grouped import grouped

ROUNDING = 1e-12  # relative: the error that floating-point arithmetic may add to equal figures

FORM = (
    "has one of published (a number or both ends of a range), follows and found, alone or with a bound; or "
    'several, which are compared, within a share and its reason, (0.05, "as ~1.5"); a premise is compared'
)


def figures_of(
    claim: Claim, catalog: Catalog, evidence: ClaimEvidence
) -> tuple[list[Figure], tuple[Need, ...]]:
    """(a claim's figures for the evidence that was gathered, the needs of them all).

    UsageError, with its line, for whatever its function asks that does not exist, and for figures that
    contradict themselves or each other.
    """
    answers = Answers(claim, catalog, evidence)
    with placed(claim.file, claim.where):
        figures: list[Figure] = list(claim.figures(answers) or ())
    known: set[tuple[str, str]] = set()
    for figure in figures:
        problem = _problem(figure, claim) or "stands there twice" * ((figure.name, figure.row) in known)
        if problem:
            raise UsageError(f"{figure.where}: figure {figure.name} {problem}")
        known.add((figure.name, figure.row))
    if not claim.not_checkable and all(figure.premise or not figure.decides for figure in figures):
        raise UsageError(
            f"{claim.where}: {claim.id} has no figure that decides, as a premise alone does not; add one "
            f'with two of published, follows and found, or with a bound, or expect "{Word.NOT_CHECKABLE}"'
        )
    return figures, tuple(answers.needs)


def _problem(figure: Figure, claim: Claim) -> str:
    """Why a figure's columns do not fit each other or the claim; empty where they do."""
    cited = (*claim.sources, *(claim.table.sources if claim.table else ()))
    documents = list(dict.fromkeys(each.source.of or each.source.title for each in cited))
    published, follows, found = figure.published, figure.follows, figure.found
    foreign = {by for each in (*published, follows) if each is not None for by in each.by} - {TABLE[0]}
    held = published and follows is not None
    if found is None:
        arithmetic = all({*quantity.by} <= {TABLE[0]} for quantity in figure.quantities())
        held = figure.compared or (figure.bounded and arithmetic)
    literal = published and found is not None and not found.origins and claim.hardware != ANY
    share, why = figure.within
    misformed = (
        not figure.columns
        or len(published) > 2
        or (figure.bounded and figure.compared)
        or (figure.premise and not figure.compared)
        or (share and not (figure.compared and 0 < share <= 1 and why))
    )
    if misformed:
        return FORM
    if foreign:
        return f"has what is found here ({', '.join(sorted(foreign))}) where it is published or follows"
    if held and len(documents) > 1:
        texts = " and ".join(documents)
        return f"holds numbers of {texts} to each other; what another document says is found"
    if literal:
        return f"is found by a number written down, which says nothing against {claim.hardware}; compute it"
    return ""


def judge(claim: Claim, catalog: Catalog, evidence: ClaimEvidence) -> Verdict:
    """The verdict on a claim. UsageError, with its place, for a figure that makes no sense."""
    figures, _ = figures_of(claim, catalog, evidence)
    by_name = grouped(figures, lambda figure: figure.name).values()
    readings = tuple(_read(rows) for rows in by_name)
    word = _word(claim, readings)
    missing = [quantity.missing for figure in figures for quantity in figure.quantities() if quantity.missing]
    incomplete = next((str(why) for why in missing if why.incomplete), "")
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
    if claim.needs or not any(reading.targets for reading in decided):
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


def _read(rows: Sequence[Figure]) -> Reading:
    """The reading of a figure at the row that disagrees most.

    A row that disagrees outweighs rows without a value; these outweigh rows that agree.
    """
    found: list[tuple[int, float, Figure, bool | None, str]] = []
    for figure in rows:
        missing = next((str(each.missing) for each in figure.quantities() if each.missing), "")
        try:
            distance, agrees = (0.0, None) if missing else _judge_figure(figure)
        except ValueError as error:
            raise UsageError(f"{figure.where}: figure {figure.name}: {error}") from None
        found.append((2 if agrees is False else 1 if missing else 0, distance, figure, agrees, missing))
    _, _, figure, agrees, missing = max(found, key=lambda row: row[:2])
    quantities = [each for row in rows for each in row.quantities()]
    by = tuple(dict.fromkeys(by for each in quantities for by in each.by))
    targets = tuple(dict.fromkeys(target for each in quantities for target in each.targets))
    against = _stands_for(figure, by) if agrees is False else ""
    known = sum(not row[-1] for row in found)
    return Reading(figure, agrees, against, known, missing, by, targets)


def _stands_for(figure: Figure, by: Sequence[str]) -> Word:
    """The verdict that a figure's disagreement stands for: the document's own numbers differ, or ours do."""
    if figure.bounded:
        if {*by} - {TABLE[0]}:  # a device, a count of work, or what was compiled
            return Word.IMPLAUSIBLE
        return Word.CONTRADICTED if figure.found is not None else Word.INCONSISTENT
    own, limit = figure.follows, figure.within[0] + ROUNDING
    differs = figure.published and own is not None and _distance(figure.published, own) > limit
    return Word.INCONSISTENT if differs else Word.CONTRADICTED


def _judge_figure(figure: Figure) -> tuple[float, bool | None]:
    """(distance as a share or a multiple of a bound; whether it agrees, None where nothing is decided)."""
    if figure.bounded:
        return _judge_bound(figure)
    if not figure.compared:
        return 0.0, None
    distance = max(_distances(figure))
    return distance, distance <= figure.within[0] + ROUNDING


def _distances(figure: Figure) -> Iterator[float]:
    """The distance of each pair of columns, relative to the first of the pair."""
    sides = [side for side in (figure.follows, figure.found) if side is not None]
    measure = figure.published or (sides.pop(0),)
    for side in sides:
        yield _distance(measure, side)


def _distance(measure: Sequence[Quantity], other: Quantity) -> float:
    """The distance of a value from a number, or from both ends of a range; infinite for unequal words."""
    low, high, value = measure[0].value, measure[-1].value, other.value
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


def _judge_bound(figure: Figure) -> tuple[float, bool]:
    """(the number as a multiple of its bound, whether it keeps to it)."""
    sides = [side for side in (*figure.published[:1], figure.follows, figure.found) if side is not None]
    number = _number(sides[0])
    most, least = (None if bound is None else _number(bound) for bound in (figure.at_most, figure.at_least))
    over = number / most if most else -math.inf if most is None else math.inf
    under = -math.inf if least is None else (least / number if number else math.inf)
    keeps = (most is None or number <= most + abs(most) * ROUNDING) and (
        least is None or number >= least - abs(least) * ROUNDING
    )
    return max(over, under), keeps


def _number(side: Quantity) -> float:
    if isinstance(side.value, bool | str):
        why = f"{side.value} is not a number, so it bounds nothing"
        raise ValueError(why)  # noqa: TRY004 - of the file, not of a caller
    return side.value
