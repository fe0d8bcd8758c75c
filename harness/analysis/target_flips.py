"""Targets that disagree: a case needs less than the baseline on one target and more on another."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from harness.analysis.compare import incomparable
from harness.analysis.results import CaseRecords, SuiteRecords, static_of, targets
from harness.analysis.scaling import FIGURES

SAME = 0.01  # of the baseline's figure


@dataclass(frozen=True)
class TargetFlip:
    """One figure of a case against its baseline's, over the targets that it was compiled for.

    `less`, `same` (within 1 %) and `more` list the targets on which the case needs less, and so on; it
    `turns` where one needs less and another more. A target without a verdict has its cause in `unavailable`.
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


def target_flips(suite: SuiteRecords) -> list[TargetFlip]:
    """A flip per case and figure but the baseline's; empty where only one target was compiled for."""
    compiled = targets(suite)
    if len(compiled) < 2:
        return []
    return [
        _flip(suite.name, records, base, figure, compiled)
        for records in suite.by_case.values()
        if records.label != suite.baseline and (base := suite.baselines.get(records.group)) is not None
        for figure in FIGURES
    ]


def _flip(
    suite: str, records: CaseRecords, base: CaseRecords, figure: str, compiled: Iterable[str]
) -> TargetFlip:
    """One figure of a case against its baseline's, target by target."""
    unavailable: dict[str, str] = {}
    verdicts: dict[str, list[str]] = {"less": [], "same": [], "more": []}
    for target in compiled:
        mine, theirs = static_of(records, target), static_of(base, target)
        if why := incomparable(figure, mine, theirs):
            unavailable[target] = why
        else:
            verdicts[_verdict(getattr(mine, figure), getattr(theirs, figure))].append(target)
    less, same, more = map(tuple, verdicts.values())
    turns = bool(less and more)
    return TargetFlip(
        suite,
        **records.point,
        figure=figure,
        less=less,
        same=same,
        more=more,
        turns=turns,
        unavailable=unavailable,
    )


def _verdict(own: float, other: float) -> str:
    if abs(own - other) <= SAME * other:
        return "same"
    return "less" if own < other else "more"
