"""Targets that disagree: a case needs less than the baseline on one target and more on another."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from harness.analysis.compare import incomparable
from harness.analysis.results import SuiteRecords, by_case, label_of, panel_of, static_of, targets
from harness.analysis.scaling import FIGURES
from harness.core.record import Record

SAME = 0.01  # of the baseline's figure


@dataclass(frozen=True)
class TargetFlip:
    """One figure of a case against its baseline's, over the targets that it was compiled for.

    `less`, `same` (within 1 %) and `more` are the targets on which the case needs so much; it `turns`
    where one needs less and another more. A target without a verdict has its cause in `unavailable`.
    """

    suite: str
    case: str
    implementation: str
    panel: str
    seq: int
    figure: str
    less: tuple[str, ...]
    same: tuple[str, ...]
    more: tuple[str, ...]
    turns: bool
    unavailable: Mapping[str, str] = field(default_factory=dict)


def turnings(suite: SuiteRecords) -> list[TargetFlip]:
    """Per case that is not the baseline's, and figure; none where only one target was compiled for."""
    compiled = targets(suite)
    if len(compiled) < 2:
        return []
    cases = by_case(suite.records).values()
    bases = {own[0].as_case.group: own for own in cases if label_of(own[0]) == suite.baseline}
    return [
        _flip(suite.name, own, bases[own[0].as_case.group], figure, compiled)
        for own in cases
        if label_of(own[0]) != suite.baseline and own[0].as_case.group in bases
        for figure in FIGURES
    ]


def _flip(
    suite: str, own: Sequence[Record], base: Sequence[Record], figure: str, compiled: Iterable[str]
) -> TargetFlip:
    found: dict[str, list[str]] = {"less": [], "same": [], "more": []}
    unavailable: dict[str, str] = {}
    for target in compiled:
        mine, theirs = static_of(own, target), static_of(base, target)
        why = incomparable(figure, mine, theirs)
        if why is None:
            found[_verdict(getattr(mine, figure), getattr(theirs, figure))].append(target)
        else:
            unavailable[target] = why
    return TargetFlip(
        suite=suite,
        case=own[0].case,
        implementation=label_of(own[0]),
        panel=panel_of(own[0]),
        seq=own[0].seq,
        figure=figure,
        less=tuple(found["less"]),
        same=tuple(found["same"]),
        more=tuple(found["more"]),
        turns=bool(found["less"] and found["more"]),
        unavailable=unavailable,
    )


def _verdict(own: float, other: float) -> str:
    if abs(own - other) <= SAME * other:
        return "same"
    return "less" if own < other else "more"
