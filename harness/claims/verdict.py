"""ClaimVerdict on a claim, from the results of its figures."""

import math
from collections.abc import Iterator, Sequence

from harness.catalog.catalog import Catalog
from harness.claims.evidence_context import EvidenceContext
from harness.claims.model import (
    AGAINST,
    ANY,
    Claim,
    ClaimEvidence,
    ClaimVerdict,
    EvidenceRequest,
    Figure,
    FigureResult,
    Word,
    located,
)
from harness.claims.quantity import TABLE, Quantity
from harness.claims.wording import sentence
from harness.core.errors import UsageError
from harness.core.grouped import grouped

ROUNDING = 1e-12  # relative error of floating-point arithmetic between equal figures

FORM = (
    "needs published (a number, or both ends of a range), follows or found. Several of them are compared, "
    'optionally within=(0.05, "reason"). A premise must be compared'
)


def figures_of(
    claim: Claim, catalog: Catalog, evidence: ClaimEvidence
) -> tuple[list[Figure], tuple[EvidenceRequest, ...]]:
    """(figures of a claim for the gathered evidence, its evidence requests).

    UsageError, with its line, for requests of unknown things, and for contradictory figures.
    """
    answers = EvidenceContext(claim, catalog, evidence)
    with located(claim.file, claim.where):
        figures: list[Figure] = list(claim.figures(answers) or ())
    known: set[tuple[str, str]] = set()
    for figure in figures:
        problem = _problem(figure, claim) or "is defined twice" * ((figure.name, figure.row) in known)
        if problem:
            raise UsageError(f"{figure.where}: figure {figure.name} {problem}")
        known.add((figure.name, figure.row))
    if not claim.not_checkable and all(figure.premise or not figure.decides for figure in figures):
        raise UsageError(
            f"{claim.where}: {claim.id} has no deciding figure (a premise does not count); add one "
            f'with two of published, follows and found, or a bound, or expect "{Word.NOT_CHECKABLE}"'
        )
    return figures, tuple(answers.requests)


def _problem(figure: Figure, claim: Claim) -> str:
    """Error in a figure's columns; empty if there is none."""
    cited = (*claim.sources, *(claim.table.sources if claim.table else ()))
    documents = list(dict.fromkeys(each.source.of or each.source.title for each in cited))
    published, follows, found = figure.published, figure.follows, figure.found
    foreign = {by for each in (*published, follows) if each is not None for by in each.by} - {TABLE[0]}
    same_document = published and follows is not None
    if found is None:
        arithmetic = all({*quantity.by} <= {TABLE[0]} for quantity in figure.quantities())
        same_document = figure.compared or (figure.bounded and arithmetic)
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
        return f"has found values ({', '.join(sorted(foreign))}) in published or follows; use found for them"
    if same_document and len(documents) > 1:
        texts = " and ".join(documents)
        return f"compares numbers of {texts}; put those of the other document in found"
    if literal:
        return f"has a literal number in found, which is not evidence for {claim.hardware}; compute it"
    return ""


def judge(claim: Claim, catalog: Catalog, evidence: ClaimEvidence) -> ClaimVerdict:
    """Decide the verdict on a claim. UsageError, with its line, for an invalid figure."""
    figures, _ = figures_of(claim, catalog, evidence)
    by_name = grouped(figures, lambda figure: figure.name).values()
    results = tuple(_read(rows) for rows in by_name)
    word = _word(claim, results)
    missing = [quantity.missing for figure in figures for quantity in figure.quantities() if quantity.missing]
    incomplete = next((str(why) for why in missing if why.incomplete), "")
    return ClaimVerdict(claim, word, sentence(claim, word, results), results, incomplete)


def _word(claim: Claim, results: Sequence[FigureResult]) -> Word:
    """Name of the verdict. Disagreement counts before a missing figure, and that before agreement."""
    decided = [result for result in results if result.figure.decides]
    wrong = [result for result in decided if result.agrees is False]
    if wrong:
        holds = not claim.not_checkable and all(result.agrees is not None for result in decided)
        return _word_against(claim, wrong, holds=holds)
    compared = [result for result in decided if result.figure.compared]
    if claim.not_checkable or not compared or any(result.agrees is None for result in decided):
        return Word.NOT_CHECKABLE
    if claim.needs or not any(result.targets for result in decided):
        return Word.ADDS_UP
    targets = {target for result in decided for target in result.targets}
    published_hardware = claim.hardware == ANY or targets == set(claim.targets)
    return Word.REPRODUCED if published_hardware else Word.ELSEWHERE


def _word_against(claim: Claim, wrong: Sequence[FigureResult], *, holds: bool) -> Word:
    """The strongest verdict that the disagreeing figures allow.

    A figure compiled for one device does not contradict a number published for another. So a disagreement
    counts only if it is on every device that may be the published hardware. A claim is vacuous if only
    premises fail, and all its other figures agree.
    """
    for word in AGAINST:
        disagreeing = [result for result in wrong if result.against == word and not result.figure.premise]
        if disagreeing and (word == Word.INCONSISTENT or _covers(claim, disagreeing)):
            return word
    premises = [result for result in wrong if result.figure.premise]
    if holds and len(premises) == len(wrong) and _covers(claim, premises):
        return Word.VACUOUS
    return Word.NOT_CHECKABLE


def _covers(claim: Claim, results: Sequence[FigureResult]) -> bool:
    if claim.hardware == ANY or any(not result.targets for result in results):
        return True
    targets = {target for result in results for target in result.targets}
    return bool(claim.targets) and targets >= set(claim.targets)


def _read(rows: Sequence[Figure]) -> FigureResult:
    """Result of a figure, at the row that disagrees most.

    A row that disagrees counts before rows without a value, and those before rows that agree.
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
    against = _verdict_of_disagreement(figure, by) if agrees is False else ""
    known = sum(not row[-1] for row in found)
    return FigureResult(figure, agrees, against, known, missing, by, targets)


def _verdict_of_disagreement(figure: Figure, by: Sequence[str]) -> Word:
    """ClaimVerdict for a figure's disagreement: with the document's own numbers, or with ours."""
    if figure.bounded:
        if {*by} - {TABLE[0]}:  # a device, a count of work, or a compiled figure
            return Word.IMPLAUSIBLE
        return Word.CONTRADICTED if figure.found is not None else Word.INCONSISTENT
    own, limit = figure.follows, figure.within[0] + ROUNDING
    differs = figure.published and own is not None and _distance(figure.published, own) > limit
    return Word.INCONSISTENT if differs else Word.CONTRADICTED


def _judge_figure(figure: Figure) -> tuple[float, bool | None]:
    """(relative distance, or multiple of a bound; whether it agrees, None if undecided)."""
    if figure.bounded:
        return _judge_bound(figure)
    if not figure.compared:
        return 0.0, None
    distance = max(_distances(figure))
    return distance, distance <= figure.within[0] + ROUNDING


def _distances(figure: Figure) -> Iterator[float]:
    """Distances between columns, relative to the first one."""
    sides = [side for side in (figure.follows, figure.found) if side is not None]
    measure = figure.published or (sides.pop(0),)
    for side in sides:
        yield _distance(measure, side)


def _distance(measure: Sequence[Quantity], other: Quantity) -> float:
    """Distance of a value from a number or a range; infinite for unequal words."""
    low, high, value = measure[0].value, measure[-1].value, other.value
    if any(isinstance(side, bool | str) for side in (low, high, value)):
        if {type(low), type(high)} != {type(value)}:
            raise ValueError(f"{low} cannot be compared with {value}; compare numbers with numbers")
        return 0.0 if low == value else math.inf
    first, last, number = float(low), float(high), float(value)
    if first > last:
        raise ValueError(f"the range {low} to {high} is empty")
    distance = max(first - number, number - last, 0.0)
    end = first if number < first else last
    return distance / abs(end) if distance and end else (math.inf if distance else 0.0)


def _judge_bound(figure: Figure) -> tuple[float, bool]:
    """(the number as a multiple of its bound, whether it is within the bound)."""
    sides = [side for side in (*figure.published[:1], figure.follows, figure.found) if side is not None]
    number = _number(sides[0])
    most, least = (None if bound is None else _number(bound) for bound in (figure.at_most, figure.at_least))
    over = number / most if most else -math.inf if most is None else math.inf
    under = -math.inf if least is None else (least / number if number else math.inf)
    within = (most is None or number <= most + abs(most) * ROUNDING) and (
        least is None or number >= least - abs(least) * ROUNDING
    )
    return max(over, under), within


def _number(side: Quantity) -> float:
    if isinstance(side.value, bool | str):
        why = f"{side.value} is not a number, so it cannot be bounded"
        raise ValueError(why)  # noqa: TRY004 - of the file, not of a caller
    return side.value
