"""Which implementation to call, by length and by every other axis that varies.

The baseline is called up to the measured length where another implementation's whole interval is faster. That
one is called from there, and so on. The dead zone before that length has no certain difference between the
two; it starts after the last length where the new one's whole interval is slower, and keeps the former
choice.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from harness.analysis.results import HOST, CaseRecords, SuiteRecords, representative
from harness.analysis.same_program import PROGRAM, same_kind
from harness.analysis.stats import DOUBTFUL, Estimate, ratio, time_of
from harness.core.clocks import clock_of
from harness.core.errors import UsageError
from harness.core.grouped import grouped
from harness.core.record import Record
from harness.core.units import format_count
from harness.core.workload import Value, canonical

INEXACT = "not mathematically equivalent to the baseline; --inexact includes it"

Candidates = Mapping[str, CaseRecords]  # label → its case, at one length


@dataclass(frozen=True)
class Choice:
    """`implementation` is called from length `first` up to the next choice's.

    `speedup` is over `former` at the measured length `at`. `former` is called in the `dead_zone` (first and
    last length). `reason` says why the choice changes although no implementation became faster.
    """

    first: int
    implementation: str
    former: str
    at: int
    speedup: Estimate
    dead_zone: tuple[int, int] | None = None
    reason: str = ""


@dataclass(frozen=True)
class LengthChoices:
    """The choices over the lengths, shortest first, and the evidence at the measured ones.

    `not_slower` are the candidates at a length for which no other is certainly faster; `fastest` has the
    lowest median.
    """

    choices: tuple[Choice, ...]
    not_slower: Mapping[int, tuple[str, ...]]
    fastest: Mapping[int, str]

    @property
    def undecided(self) -> dict[int, str]:
        """The fastest candidate at measured lengths where another is called."""
        return {s: label for s, label in self.fastest.items() if label != self.choice_at(s).implementation}

    def choice_at(self, seq: int) -> Choice:
        """The choice at a length."""
        return next((c for c in reversed(self.choices) if c.first <= seq), self.choices[0])


def choose_by_length(lengths: Mapping[int, Candidates], baseline: str) -> LengthChoices:
    """The choices over ascending measured lengths, each with at least one candidate."""
    sweep = _Sweep(lengths, baseline)
    for before, seq in pairwise([0, *lengths]):
        sweep.advance(before, seq)
    not_slower = {
        seq: tuple(label for label in here if not any(sweep.is_faster(seq, other, label) for other in here))
        for seq, here in lengths.items()
    }
    fastest = {seq: _fastest(here) for seq, here in lengths.items()}
    return LengthChoices(tuple(sweep.choices), not_slower, fastest)


def _fastest(here: Candidates) -> str:
    return min(here, key=lambda label: time_of(here[label]).value or math.inf)


@dataclass
class _Sweep:
    """The state of a pass from the shortest length to the longest: the choices made so far."""

    lengths: Mapping[int, Candidates]
    baseline: str
    choices: list[Choice] = field(default_factory=list[Choice])
    known: dict[tuple[int, str, str], Estimate] = field(default_factory=dict[tuple[int, str, str], Estimate])

    @property
    def now(self) -> str:
        return self.choices[-1].implementation if self.choices else ""

    def advance(self, before: int, seq: int) -> None:
        """Go from a measured length to the next, and change to a faster implementation there."""
        here, first, reason = self.lengths[seq], seq, ""
        if self.now not in here:
            first = before + 1  # an implementation that does not run here may not run in between
            reason = f"{self.now} does not run at {format_count(seq)}" if self.choices else ""
            start = self.baseline if self.baseline in here else _fastest(here)
            self._put(Choice(first, start, start, seq, Estimate(None), reason=reason))
        faster = [label for label in here if self.is_faster(seq, label, self.now)]
        if faster:
            best = max(faster, key=lambda label: self.speedup(seq, label, self.now).value or 0.0)
            zone = self._dead_zone(best, seq) if first == seq else None
            self._put(Choice(first, best, self.now, seq, self.speedup(seq, best, self.now), zone, reason))

    def _dead_zone(self, label: str, seq: int) -> tuple[int, int]:
        """The lengths up to `seq` at which `label` is not certainly slower than the current choice."""
        slower = [
            length
            for length, here in self.lengths.items()
            if length < seq and {label, self.now} <= here.keys() and self.is_faster(length, self.now, label)
        ]
        return max([self.choices[-1].first, *(length + 1 for length in slower)]), seq

    def _put(self, choice: Choice) -> None:
        if self.choices and self.choices[-1].first == choice.first:
            self.choices.pop()
        self.choices.append(choice)

    def is_faster(self, seq: int, label: str, over: str) -> bool:
        """Whether the whole interval of the speedup is above 1."""
        return (self.speedup(seq, label, over).low or 0.0) > 1

    def speedup(self, seq: int, label: str, over: str) -> Estimate:
        """The speedup of a candidate over another; without a value if both are one program."""
        key = seq, label, over
        if key not in self.known:
            mine, theirs = self.lengths[seq][label], self.lengths[seq][over]
            same = label == over or same_kind(mine, theirs, target=HOST) == PROGRAM
            self.known[key] = Estimate(None, reason="the same program") if same else ratio(theirs, mine)
            if self.known[key].doubtful:
                self.known[key] = Estimate(None, reason=DOUBTFUL)
        return self.known[key]


@dataclass(frozen=True)
class SuiteChoices:
    """The choices by length at each point of `axes`, the other fields that vary.

    `left_out` maps implementations to where and why they were not candidates. `inexact` are the candidates
    that are not mathematically equivalent to the baseline.
    """

    suite: SuiteRecords
    axes: tuple[str, ...]
    fixed: Mapping[str, Value]
    points: Mapping[tuple[Value, ...], LengthChoices]
    left_out: Mapping[str, str]
    inexact: frozenset[str]


def suite_choices(
    suite: SuiteRecords, defaults: Mapping[str, Value], *, inexact: bool = False
) -> SuiteChoices:
    """The choices of a suite; `defaults` are the values of fields that records omit.

    Candidates passed their contract and were timed like the baseline: same clock, run, machine and inputs.
    They have its semantics, unless `inexact`. UsageError without a baseline or a candidate.
    """
    if not suite.by_label.get(suite.baseline):
        raise UsageError(f"suite {suite.name} has no baseline to compare with; name one with --baseline")
    meaning = representative(suite.by_label[suite.baseline][0]).semantics
    refused: dict[str, dict[str, list[CaseRecords]]] = {}  # label → reason → cases
    cases: list[CaseRecords] = []
    conditions: dict[str, tuple[object, ...]] = {}  # of a group: its baseline's, else the first's
    for case in sorted(suite.by_case.values(), key=lambda case: case.label != suite.baseline):
        why = _refusal(case, conditions, "" if inexact else meaning)
        if why:
            refused.setdefault(case.label, {}).setdefault(why, []).append(case)
        else:
            cases.append(case)
    if not cases:
        raise UsageError(f"suite {suite.name} has no comparable times; measure them with: seqsweep run")
    points = {case[0].case: _point(case, defaults) for case in suite.by_case.values()}
    axes, fixed = _divide_fields(suite, points)
    at_points = grouped(cases, lambda case: tuple(points[case[0].case].get(name) for name in axes))
    return SuiteChoices(
        suite,
        axes,
        fixed,
        {
            point: choose_by_length(_by_length(members), suite.baseline)
            for point, members in at_points.items()
        },
        {
            label: "; ".join(_refused_at(why, cases, axes, points) for why, cases in whys.items())
            for label, whys in refused.items()
        },
        frozenset(case.label for case in cases if _differs(representative(case), meaning)),
    )


def _divide_fields(
    suite: SuiteRecords, points: Mapping[str, Mapping[str, Value]]
) -> tuple[tuple[str, ...], dict[str, Value]]:
    """(the fields other than the length that vary over the cases, the values of fields that do not vary).

    The latter contain only fields in the records, not defaults that no case sets.
    """
    names = sorted({name for point in points.values() for name in point} - {"seq"})
    values = {name: [point.get(name) for point in points.values()] for name in names}
    axes = tuple(name for name in names if len(set(values[name])) > 1)
    named = {"mode", "device"}.union(*(case[0].workload for case in suite.by_case.values()))
    return axes, {name: values[name][0] for name in names if name in named and name not in axes}


def _point(case: CaseRecords, defaults: Mapping[str, Value]) -> dict[str, Value]:
    record = case[0]
    return {**defaults, **record.workload, "mode": record.mode, "device": record.device}


def _by_length(cases: list[CaseRecords]) -> dict[int, dict[str, CaseRecords]]:
    by_length = grouped(sorted(cases, key=lambda case: case[0].seq), lambda case: case[0].seq)
    return {seq: {case.label: case for case in members} for seq, members in by_length.items()}


def _differs(record: Record, meaning: str) -> bool:
    """Whether a record has other semantics than `meaning`, or an author's bound."""
    return record.semantics != meaning or bool(record.bound)


def _refused_at(
    why: str, cases: Iterable[CaseRecords], axes: Sequence[str], points: Mapping[str, Mapping[str, Value]]
) -> str:
    """`at 16Ki, 64Ki (oom)`, or with axes `at 16Ki with mode=fwd_bwd (oom)`; only the reason for INEXACT."""
    if why == INEXACT:
        return f"({why})"
    lengths: dict[str, dict[str, None]] = {}  # of each point, without duplicates
    for case in cases:
        point = points[case[0].case]
        where = " ".join(f"{name}={canonical(point.get(name))}" for name in axes)
        lengths.setdefault(where, {})[format_count(case[0].seq)] = None
    places = (f"{', '.join(at)}{f' with {where}' if where else ''}" for where, at in lengths.items())
    return f"at {', and at '.join(places)} ({why})"


def _refusal(case: CaseRecords, conditions: dict[str, tuple[object, ...]], meaning: str) -> str:
    """Why a case is not a candidate; empty if it is. An empty `meaning` allows any semantics."""
    record = representative(case)
    failed = next((replicate.status for replicate in case if replicate.status != "ok"), None)
    if meaning and _differs(record, meaning):
        return INEXACT
    if failed or record.timing is None:
        return failed or "not timed"
    mine = record.run, record.seed, record.fingerprint, clock_of(record.timing.method), record.timing.cache
    return "" if conditions.setdefault(case.group, mine) == mine else "measured under other conditions"
