"""Sensitivity to data: one comparison over several distributions of its inputs.

The ratio of a case is its speedup divided by the same implementation's speedup on the first distribution at
the same length; for the baseline it is a ratio of times. All sides share their rounds, so that drift of the
machine cancels. The intervals of all ratios that a command reports hold jointly (Bonferroni).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.analysis.compare import Comparison, comparisons
from harness.analysis.results import CaseRecords, SuiteRecords, representative
from harness.analysis.stats import FASTER, SLOWER, Estimate, interval_verdict, ratio, ratio_of_ratios, time_of
from harness.core.grouped import grouped
from harness.core.median_interval import LEVEL
from harness.core.record import Record
from harness.core.workload import canonical

FIELD = "distribution"
NOT_INTERLEAVED = "not measured in the same rounds; measure with seqsweep sensitivity"


def level_of(ratios: int) -> float:
    """The level of each interval so that this many of them hold jointly at 95 %."""
    return 1 - (1 - LEVEL) / max(ratios, 1)


def count_ratios(series: Iterable[Sequence[object]]) -> int:
    """The number of ratios to the first case of each series."""
    return sum(max(len(cases) - 1, 0) for cases in series)


@dataclass(frozen=True)
class DrawnCase:
    """A case on one distribution; `ratio` has no value on the first one, or if a side has no time."""

    distribution: str
    records: CaseRecords
    time: Estimate
    compared: Comparison | None
    ratio: Estimate

    @property
    def record(self) -> Record:
        return representative(self.records)

    @property
    def is_different(self) -> bool:
        return interval_verdict(self.ratio) in {FASTER, SLOWER}


@dataclass(frozen=True)
class Sensitivity:
    """An implementation on several distributions; `setting` has all other fields except the length."""

    suite: str
    setting: str
    implementation: str
    baseline: str
    first: str
    cases: tuple[DrawnCase, ...]

    @property
    def largest(self) -> DrawnCase | None:
        """The case with the ratio furthest from 1, among those with an interval that excludes 1 if any."""
        changed = [(case, abs(math.log(case.ratio.value))) for case in self.cases if case.ratio.value]
        return max(changed, key=lambda each: (each[0].is_different, each[1]))[0] if changed else None

    def to_json(self) -> dict[str, Any]:
        """As plain data, with the speedup of every case and its ratio."""
        cases = [
            {
                "case": case.record.case,
                FIELD: case.distribution,
                "seq": case.record.seq,
                "status": case.record.status,
                "reason": case.record.reason,
                "time": case.time._asdict(),
                "speedup": case.compared.speedup if case.compared else None,
                "ratio": case.ratio._asdict(),
                "figures": case.record.correctness.figures if case.record.correctness else {},
            }
            for case in self.cases
        ]
        return {**vars(self), "cases": cases}


Drawn = Sequence[tuple[str, CaseRecords]]
Compared = Mapping[str, Comparison]  # by case; the baseline's cases have none


def sensitivities(suites: Sequence[SuiteRecords], defaults: Mapping[str, str]) -> list[Sensitivity]:
    """The sensitivity of every implementation of the suites that has two distributions or more.

    `defaults` are the distributions of workloads that name none, by family.
    """
    varied: list[tuple[SuiteRecords, Compared, str, str, Drawn]] = []
    for suite in suites:
        compared, default = {c.case: c for c in comparisons(suite)}, defaults.get(suite.family, "")
        for (setting, label), cases in grouped(suite.by_case.values(), _setting_and_label).items():
            drawn = [(canonical(case[0].workload.get(FIELD, default)), case) for case in cases]
            if len({distribution for distribution, _ in drawn}) > 1:
                varied.append((suite, compared, setting, label, drawn))
    valued = (
        [records for _, records in drawn if records[0].seq == seq and _value(records, compared) is not None]
        for _, compared, *_, drawn in varied
        for seq in {records[0].seq for _, records in drawn}
    )
    level = level_of(count_ratios(valued))
    return [_sensitivity(*each, level) for each in varied]


def _value(records: CaseRecords, compared: Compared) -> float | None:
    """A case's speedup, or for the baseline its time."""
    comparison = compared.get(records[0].case)
    return time_of(records).value if comparison is None else comparison.speedup


def _setting_and_label(case: CaseRecords) -> tuple[str, str]:
    record = case[0]
    fixed = sorted((n, v) for n, v in record.workload.items() if n not in {"seq", FIELD})
    fields = " ".join(f"{name}={canonical(value)}" for name, value in fixed)
    return f"{fields}, {record.mode} on {record.device}", case.label


def _sensitivity(
    suite: SuiteRecords, compared: Compared, setting: str, label: str, drawn: Drawn, level: float
) -> Sensitivity:
    """The sensitivity of one implementation, with intervals at the level."""
    first = drawn[0][0]
    firsts = {records[0].seq: records for name, records in drawn if name == first}

    def to_first(records: CaseRecords) -> Estimate:
        of, base = _value(records, compared), firsts.get(records[0].seq)
        to = None if base is None else _value(base, compared)
        if base is None or of is None or to is None or base is records:
            return Estimate(None, reason=f"{first} is the first one, or one of the two has no time")
        if suite.interleaved != FIELD:
            return Estimate(of / to, reason=NOT_INTERLEAVED)
        if label == suite.baseline:
            found = ratio(records, base, level)
        else:
            sides = [side for each in (records, base) for side in (suite.baselines[each.group], each)]
            found = ratio_of_ratios(sides, level)
        return Estimate(of / to, reason=found.reason) if found.value is None else found

    cases = tuple(
        DrawnCase(name, records, time_of(records), compared.get(records[0].case), to_first(records))
        for name, records in drawn
    )
    return Sensitivity(suite.name, setting, label, suite.baseline, first, cases)
