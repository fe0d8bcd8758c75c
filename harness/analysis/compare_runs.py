"""Changes between two sides: two implementations of one run, or one case in two runs.

Only the first is a comparison, because its samples come from the same rounds. Timings of different runs are a
trend. On one machine, minutes apart and without a change, stored timings often differ by more than 10 %.
Every usual test would give a false alarm in a quarter to a third of comparisons, and no interval covers this
drift.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from harness.analysis.compare import NOT_EQUIVALENT
from harness.analysis.results import HOST, by_case, forms, group_of, label_of, panel_of
from harness.analysis.same_program import same_kind
from harness.analysis.stats import Estimate, interval_verdict, ratio, time_of
from harness.catalog.source_hash import same_hash_kind
from harness.core.clocks import is_one_clock
from harness.core.errors import UsageError, nearest
from harness.core.fingerprint_identity import fingerprint_differences
from harness.core.record import Record, state_bound
from harness.store.run_summary import RunSummary

BOTH_INTERVALS = "both intervals"
SAME_KIND = "same {kind} on both sides: a time difference comes from outside the {kind}"
OTHER_SOURCE = "the source code changed between the runs"
UNKNOWN_SOURCE = "unknown whether the source code changed: the two runs hash it differently"

Replicates = tuple[Record, ...]
Compare = Callable[[Replicates, Replicates], Estimate]


@dataclass(frozen=True)
class Change:
    """The time of `of` divided by the time of `to`: below 1, `of` is faster.

    The ratio's unit is `rounds`, `processes`, or `both intervals` if the sides come from different runs (the
    widest interval that both sides' 95 % intervals allow). `of_time` and `to_time` are seconds per call.
    `reading` is the ratio's :func:`interval_verdict`.
    """

    case: str
    of: str
    to: str
    panel: str
    seq: int
    of_time: Estimate
    to_time: Estimate
    reading: str
    ratio: Estimate
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class SideBySide:
    """Two sides, with the times of `of` divided by those of `to`.

    `trend`: they were not measured together. `runs` are keyed by the sides' names. `only` has the ids of
    cases without a counterpart, by side. `differing` are facts of the machine.
    """

    trend: bool
    heading: str
    of: str
    to: str
    runs: Mapping[str, RunSummary]
    changes: Sequence[Change]
    only: Mapping[str, Sequence[str]]
    differing: Sequence[str] = ()

    def to_json(self) -> dict[str, Any]:
        changes = [
            {**vars(c), "of_time": c.of_time._asdict(), "to_time": c.to_time._asdict()}
            | c.ratio.flat_fields("ratio", "low", "high", "unit", "samples", "reason")
            for c in self.changes
        ]
        runs = {name: asdict(run) for name, run in self.runs.items()}
        about = {"trend": self.trend, "heading": self.heading, "sides": runs, "differing": self.differing}
        return {**about, "comparisons": changes, "only": self.only}


class Matching(NamedTuple):
    """The changes of the cases that two sides share, and the ids of those without a counterpart."""

    changes: list[Change]
    only_of: list[str]
    only_to: list[str]


def match_implementations(records: Sequence[Record], of: str, to: str) -> Matching:
    """The change at every point of a run with both implementations (labels, ids or names)."""
    cases = by_case(records).values()
    return _match(_records_by_group(cases, of), _records_by_group(cases, to), ratio)


def match_runs(before: Sequence[Record], after: Sequence[Record]) -> Matching:
    """The change of every case that both runs have, `after` divided by `before`: a trend."""
    return _match(by_case(after), by_case(before), lambda of, to: quotient(time_of(of), time_of(to)))


def _match(of: Mapping[Any, Replicates], to: Mapping[Any, Replicates], compare: Compare) -> Matching:
    """Match two sides by the keys of their cases."""
    return Matching(
        [_change(mine, to[key], compare(mine, to[key])) for key, mine in of.items() if key in to],
        [records[0].case for key, records in of.items() if key not in to],
        [records[0].case for key, records in to.items() if key not in of],
    )


def describe_differences(left: Mapping[str, Any], right: Mapping[str, Any]) -> list[str]:
    """The differences of two fingerprints: `versions.jax (0.10.1, 0.10.2)`."""
    entries = sorted(fingerprint_differences(left, right), key=lambda entry: entry[0])
    return [f"{name} ({mine}, {theirs})" for name, mine, theirs in entries]


def _records_by_group(cases: Any, word: str) -> dict[str, Replicates]:
    """Group → the records of the implementation that `word` names there."""
    known: set[str] = set()
    by_group: dict[str, Replicates] = {}
    for records in cases:
        names = forms(label_of(records[0]))
        known |= names
        if word in names:
            group = group_of(records[0])
            if group in by_group:
                raise UsageError(
                    f'--impl: "{word}" has several options; name one, for example {label_of(records[0])}'
                )
            by_group[group] = records
    if not by_group:
        raise UsageError(f'--impl: the run has no "{word}"{nearest(word, known)}')
    return by_group


def _change(of: Replicates, to: Replicates, estimate: Estimate) -> Change:
    mine, theirs = of[0], to[0]
    untimed = [record for record in (mine, theirs) if record.timing is None]
    if untimed:
        reason = f"n/a ({label_of(untimed[0])} {untimed[0].status})"
        estimate = estimate._replace(value=None, low=None, high=None, reason=reason)
    return Change(
        case=mine.case,
        of=label_of(mine),
        to=label_of(theirs),
        panel=panel_of(mine),
        seq=mine.seq,
        of_time=time_of(of),
        to_time=time_of(to),
        reading=interval_verdict(estimate),
        ratio=estimate,
        warnings=(*estimate.warnings, *_doubts(of, to)),
    )


def _doubts(of: Replicates, to: Replicates) -> list[str]:
    """The notes that qualify a change. UsageError if the clocks differ."""
    mine, theirs = of[0], to[0]
    methods = {record.timing.method for record in (mine, theirs) if record.timing is not None}
    if not is_one_clock(*methods):
        raise UsageError(
            f"{mine.case} was timed by {' and '.join(sorted(methods))}: times of different clocks "
            "cannot be compared; measure both sides with the same method"
        )
    doubts: list[str] = []
    if mine.semantics != theirs.semantics:
        doubts.append(f"semantics {mine.semantics} and {theirs.semantics}: {NOT_EQUIVALENT}")
    bounds = [f"{label_of(side)}: {words}" for side in (mine, theirs) for words in state_bound(side.bound)]
    doubts += dict.fromkeys(bounds)
    kind = same_kind(of, to, target=HOST)
    if kind:
        doubts.append(SAME_KIND.format(kind=kind))
    if mine.case == theirs.case and mine.source != theirs.source:
        known = same_hash_kind(mine.source, theirs.source)
        doubts.append(OTHER_SOURCE if known else UNKNOWN_SOURCE)
    return doubts


def quotient(of: Estimate, to: Estimate) -> Estimate:
    """The ratio of two separately measured values; its interval is the widest that both intervals allow."""
    if of.value is None or to.value is None:
        return Estimate(None, reason=of.reason or to.reason)
    warnings = tuple(dict.fromkeys((*of.warnings, *to.warnings)))
    value, samples = of.value / to.value, min(of.samples, to.samples)
    if of.low is None or of.high is None or to.low is None or to.high is None:
        lacking = of if of.low is None else to
        return Estimate(value, None, None, samples, lacking.unit, lacking.reason, warnings)
    return Estimate(value, of.low / to.high, of.high / to.low, samples, BOTH_INTERVALS, None, warnings)
