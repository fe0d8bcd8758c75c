"""Two sides beside each other: two implementations of one run, or one case in two runs.

Only the first is a comparison: its readings were taken in the same rounds. Timings of different
runs are a trend. On one machine, minutes apart and with nothing changed, stored timings differ by
more than 10 % often enough that every usual test would raise a false alarm in a quarter to a third
of comparisons; what drifted in between is in no interval.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.analysis.results import HOST, by_case, label_of, panel_of, static_of
from harness.analysis.stats import Estimate, ratio, time_of
from harness.core.difference import differences
from harness.core.errors import UsageError, nearest
from harness.core.record import Record

BOTH_INTERVALS = "both intervals"
SAME_PROGRAM = "same program on both sides: a difference in time is noise or drift"
OTHER_SOURCE = "the source has changed in between"


@dataclass(frozen=True)
class Change:
    """Time of `of` in units of the time of `to`: below 1, `of` is faster. None has its `reason`.

    `unit` is what the interval is over: `rounds`, `processes`, or `both intervals` where the sides
    come from different runs (the widest that both sides' own 95 % intervals allow).
    """

    case: str
    of: str
    to: str
    panel: str
    seq: int
    ratio: float | None
    low: float | None
    high: float | None
    unit: str
    samples: int
    reason: str | None
    warnings: tuple[str, ...] = ()


def within(records: Sequence[Record], of: str, to: str) -> list[Change]:
    """Every point of a run at which both implementations (labels, ids or names) stand."""
    cases = by_case(records).values()
    left, right = _records_by_group(cases, of), _records_by_group(cases, to)
    return [
        _change(mine, right[group], ratio(mine, right[group]))
        for group, mine in left.items()
        if group in right
    ]


def across(before: Sequence[Record], after: Sequence[Record]) -> list[Change]:
    """Every case that both runs have, the later side in units of the earlier one: a trend."""
    earlier = by_case(before)
    found: list[Change] = []
    for case, mine in by_case(after).items():
        if case not in earlier:
            continue
        change = _change(mine, earlier[case], _quotient(time_of(mine), time_of(earlier[case])))
        found.append(change)
    return found


def differing(left: Mapping[str, Any], right: Mapping[str, Any]) -> list[str]:
    """What two fingerprints do not share: `versions.jax (0.10.1, 0.10.2)`."""
    found = sorted(differences(left, right), key=lambda found: found[0])
    return [f"{name} ({mine}, {theirs})" for name, mine, theirs in found]


def _records_by_group(cases: Any, word: str) -> dict[str, tuple[Record, ...]]:
    """Group → the records of the implementation that `word` means there."""
    known: set[str] = set()
    found: dict[str, tuple[Record, ...]] = {}
    for own in cases:
        names = {own[0].implementation, label_of(own[0])}
        names |= {name.split("/", 1)[1] for name in names}
        known |= names
        if word in names:
            group = own[0].as_case.group
            if group in found:
                raise UsageError(
                    f'--impl: "{word}" stands there with several options; name one, as {label_of(own[0])}'
                )
            found[group] = own
    if not found:
        raise UsageError(f'--impl: the run has no "{word}"{nearest(word, known)}')
    return found


def _change(of: tuple[Record, ...], to: tuple[Record, ...], found: Estimate) -> Change:
    mine, theirs = of[0], to[0]
    reason = found.reason
    untimed = [record for record in (mine, theirs) if record.timing is None]
    if untimed:
        reason = f"n/a ({label_of(untimed[0])} {untimed[0].status})"
    return Change(
        case=mine.case,
        of=label_of(mine),
        to=label_of(theirs),
        panel=panel_of(mine),
        seq=mine.seq,
        ratio=None if untimed else found.value,
        low=None if untimed else found.low,
        high=None if untimed else found.high,
        unit=found.unit,
        samples=found.samples,
        reason=reason,
        warnings=(*found.warnings, *_doubts(of, to)),
    )


def _doubts(of: tuple[Record, ...], to: tuple[Record, ...]) -> list[str]:
    mine, theirs = of[0], to[0]
    methods = {record.timing.method for record in (mine, theirs) if record.timing is not None}
    if len(methods) > 1:
        raise UsageError(
            f"{mine.case} was timed by {' and '.join(sorted(methods))}: readings of different clocks "
            "are never compared; measure both sides in one way"
        )
    doubts: list[str] = []
    if mine.semantics != theirs.semantics:
        doubts.append(
            f"semantics {mine.semantics} and {theirs.semantics}: other mathematics, not only another speed"
        )
    programs = {figures.program if (figures := static_of(side, HOST)) else None for side in (of, to)}
    if len(programs) == 1 and None not in programs:
        doubts.append(SAME_PROGRAM)
    if mine.case == theirs.case and mine.source != theirs.source:
        doubts.append(OTHER_SOURCE)
    return doubts


def _quotient(of: Estimate, to: Estimate) -> Estimate:
    """The ratio of two values that were not measured together, as wide as both intervals allow."""
    if of.value is None or to.value is None:
        return Estimate(None, reason=of.reason or to.reason)
    warnings = tuple(dict.fromkeys((*of.warnings, *to.warnings)))
    value, samples = of.value / to.value, min(of.samples, to.samples)
    if of.low is None or of.high is None or to.low is None or to.high is None:
        return Estimate(value, None, None, samples, BOTH_INTERVALS, of.reason or to.reason, warnings)
    return Estimate(value, of.low / to.high, of.high / to.low, samples, BOTH_INTERVALS, None, warnings)
