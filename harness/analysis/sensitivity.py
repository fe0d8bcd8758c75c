"""Sensitivity to data: one comparison over the distributions that its inputs are drawn from.

What is told of an implementation is the largest factor between two distributions at one length: of its
speedup over the baseline, whose sides share their rounds, and of its own time, whose sides do not. Of the
largest of several factors the two bounds need different care. It is above some number as soon as one of
them is, so that its lower bound takes the intervals of all distributions jointly (Bonferroni). It is below
only if all are, and then every pair has been tested alone (an intersection-union test, Berger 1982), so
that the upper bound takes them one by one. Both are divided by how many such factors a command tells.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, NamedTuple

from harness.analysis.compare import Comparison, comparisons
from harness.analysis.results import CaseRecords, SuiteRecords, representative
from harness.analysis.stats import Estimate, ratio, time_at, time_of
from harness.core.grouped import grouped
from harness.core.median_interval import LEVEL
from harness.core.record import Record
from harness.core.workload import canonical

FIELD = "distribution"
FACTOR = 1.5  # between two distributions, from which on a result is said to depend on its data
FOUND, EXCLUDED, UNDECIDED = "found", "excluded", "undecided"


class Levels(NamedTuple):
    """The levels of the intervals that the two bounds of a largest factor are made of."""

    lower: float
    upper: float

    @classmethod
    def of(cls, factors: int, values: int) -> "Levels":
        """For `factors` that are told together, each the largest among `values`."""
        allowed = (1 - LEVEL) / 2 / max(factors, 1)  # by either bound of one factor
        return cls(1 - allowed / max(values, 1), 1 - allowed)


@dataclass(frozen=True)
class Largest:
    """The largest factor between two distributions at one length, with its interval at 95 %, jointly.

    `value` is None for the `reason` given, where fewer than two distributions have a value at any length. A
    bound is None where some interval it needs is missing. `most` and `least` are the distributions.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    seq: int = 0
    most: str = ""
    least: str = ""
    reason: str | None = None

    def verdict(self, factor: float = FACTOR) -> str:
        """Whether so large a factor is FOUND, EXCLUDED or UNDECIDED by the interval."""
        if self.low is not None and self.low > factor:
            return FOUND
        return EXCLUDED if self.high is not None and self.high < factor else UNDECIDED


@dataclass(frozen=True)
class DrawnCase:
    """A case on one distribution. `joint` is its speedup with an interval that holds beside all others."""

    distribution: str
    records: CaseRecords
    time: Estimate
    compared: Comparison | None
    joint: Estimate

    @property
    def seq(self) -> int:
        return self.records[0].seq

    @cached_property
    def record(self) -> Record:
        return representative(self.records)

    @property
    def side(self) -> int:
        """1 where its joint interval is above 1, −1 where it is below, else 0."""
        if self.joint.low is None or self.joint.high is None:
            return 0
        return 1 if self.joint.low > 1 else -1 if self.joint.high < 1 else 0


@dataclass(frozen=True)
class Sensitivity:
    """An implementation on several distributions, all else but the length fixed as `setting` says.

    `speedup` is None for the baseline itself.
    """

    suite: str
    setting: str
    implementation: str
    baseline: str
    cases: tuple[DrawnCase, ...]
    speedup: Largest | None
    time: Largest

    @property
    def other_semantics(self) -> bool:
        return any(case.compared is not None and case.compared.other_semantics for case in self.cases)

    def to_json(self, factor: float) -> dict[str, Any]:
        largest = {"speedup": self.speedup, "time": self.time}
        cases = [
            {
                "case": case.records[0].case,
                FIELD: case.distribution,
                "seq": case.seq,
                "status": case.record.status,
                "reason": case.record.reason,
                "time": case.time._asdict(),
                "speedup": case.joint._asdict(),
                "figures": case.record.correctness.figures if case.record.correctness else {},
            }
            for case in self.cases
        ]
        return {
            **{name: getattr(self, name) for name in ("suite", "setting", "implementation", "baseline")},
            "largest": {
                name: {**asdict(found), "verdict": found.verdict(factor)} if found else None
                for name, found in largest.items()
            },
            "cases": cases,
        }


def sensitivities(suites: Sequence[SuiteRecords], defaults: Mapping[str, str]) -> list[Sensitivity]:
    """Of every implementation of the suites, those with fewer than two distributions left out.

    `defaults` are the distributions of workloads that name none, by family.
    """
    found = [
        (suite, setting, label, drawn)
        for suite in suites
        for (setting, label), drawn in _by_setting(suite, defaults.get(suite.family, "")).items()
        if len({distribution for distribution, _ in drawn}) > 1
    ]
    factors = sum(1 if label == suite.baseline else 2 for suite, _, label, _ in found)
    return [_of(suite, setting, label, drawn, factors) for suite, setting, label, drawn in found]


Drawn = list[tuple[str, CaseRecords]]


def distribution_of(record: Record, default: str) -> str:
    return canonical(record.workload.get(FIELD, default))


def _by_setting(suite: SuiteRecords, default: str) -> dict[tuple[str, str], Drawn]:
    """(setting, label) → its cases with their distributions, in the order of the records."""
    drawn = grouped(suite.by_case.values(), lambda records: (_setting(records[0]), records.label))
    return {
        key: [(distribution_of(records[0], default), records) for records in cases]
        for key, cases in drawn.items()
    }


def _setting(record: Record) -> str:
    fixed = sorted((n, v) for n, v in record.workload.items() if n not in {"seq", FIELD})
    fields = " ".join(f"{name}={canonical(value)}" for name, value in fixed)
    return f"{fields}, {record.mode} on {record.device}"


class DrawnValue(NamedTuple):
    """A value on one distribution, with its interval at the levels that the two bounds need."""

    seq: int
    distribution: str
    lower: Estimate
    upper: Estimate


def _of(suite: SuiteRecords, setting: str, label: str, drawn: Drawn, factors: int) -> Sensitivity:
    levels = Levels.of(factors, len(drawn))
    compared = {comparison.case: comparison for comparison in comparisons(suite)}

    def speedup(records: CaseRecords, level: float) -> Estimate:
        comparison = compared.get(records[0].case)
        if comparison is None or comparison.speedup is None:
            return Estimate(None, reason=comparison.reason if comparison else None)
        return ratio(suite.baselines[records.group], records, level)

    def largest(value: Callable[[CaseRecords, float], Estimate]) -> Largest:
        points = [
            DrawnValue(records[0].seq, name, value(records, levels.lower), value(records, levels.upper))
            for name, records in drawn
        ]
        return largest_factor([point for point in points if point.lower.value is not None])

    cases = [
        DrawnCase(name, records, time_of(records), compared.get(case), speedup(records, levels.lower))
        for name, records in drawn
        for case in [records[0].case]
    ]
    relative = suite.baseline and label != suite.baseline
    return Sensitivity(
        *(suite.name, setting, label, suite.baseline, tuple(cases)),
        speedup=largest(speedup) if relative else None,
        time=largest(time_at),
    )


def largest_factor(points: Sequence[DrawnValue]) -> Largest:
    """The largest factor between two distributions at one length; every point has a value."""
    pairs = [(a, b) for a, b in itertools.permutations(points, 2) if a.seq == b.seq]
    if not pairs:
        return Largest(None, reason="two distributions have no time at one length")
    more, less = max(pairs, key=lambda pair: (pair[0].lower.value or 0.0) / (pair[1].lower.value or 1.0))
    lows = [a.lower.low / b.lower.high for a, b in pairs if a.lower.low and b.lower.high]
    highs = [a.upper.high / b.upper.low for a, b in pairs if a.upper.high and b.upper.low]
    reasons = [estimate.reason for point in points for estimate in (point.lower, point.upper)]
    return Largest(
        (more.lower.value or 0.0) / (less.lower.value or 1.0),
        max(1.0, *lows) if lows else None,
        max(highs) if len(highs) == len(pairs) else None,
        *(more.seq, more.distribution, less.distribution),
        reason=next(filter(None, reasons), None),
    )
