"""Sensitivity to data: one comparison over the distributions that its inputs are drawn from.

The figure of an implementation is the largest factor between two distributions at one length: of its speedup
over the baseline, or for the baseline of its own time. All sides share their rounds, so that what the machine
does meanwhile divides out of each factor. The two bounds of a maximum over pairs need different care. The
maximum exceeds a number as soon as one pair does, so the lower bound takes the intervals of all pairs jointly
(Bonferroni). It stays below a number only if all pairs do, and each of them is tested for that (an
intersection-union test, Berger 1982), so the upper bound takes the intervals one by one. Both levels are
further divided by the number of such factors that a command reports.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from harness.analysis.compare import Comparison, comparisons
from harness.analysis.results import CaseRecords, SuiteRecords, representative
from harness.analysis.stats import FASTER, SLOWER, Estimate, ratio, ratio_of_ratios, read_interval, time_of
from harness.core.grouped import grouped
from harness.core.median_interval import LEVEL
from harness.core.record import Record
from harness.core.workload import canonical

FIELD = "distribution"
LOADED = "other programs took the processor while it was sampled"
FOUND, EXCLUDED, UNDECIDED, UNKNOWN = "found", "excluded", "undecided", "not known"
NO_PAIR = "two distributions have no time at one length"
APART = "they were not measured in the same rounds: seqsweep sensitivity does that"


def level_of(factors: int, among: int = 1) -> float:
    """The level of an interval, so that `among` of them for each of `factors` hold together at 95 %."""
    return 1 - (1 - LEVEL) / factors / among


def count_pairs(lengths: Iterable[int]) -> int:
    """Ordered pairs of one length each, of values at these lengths."""
    return sum(count * (count - 1) for count in Counter(lengths).values())


@dataclass(frozen=True)
class Largest:
    """The largest factor between two distributions at one length, with its interval at 95 %, jointly.

    `value` is None where fewer than two distributions have a value at any length. A bound is None where an
    interval that it needs is missing, for the `reason` given. `most` and `least` are the distributions.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    seq: int = 0
    most: str = ""
    least: str = ""
    reason: str | None = None

    def verdict(self, factor: float) -> str:
        """FOUND, EXCLUDED or UNDECIDED by the interval of so large a factor; UNKNOWN without a value."""
        if self.value is None:
            return UNKNOWN
        if self.low is not None and self.low > factor:
            return FOUND
        return EXCLUDED if self.high is not None and self.high < factor else UNDECIDED


@dataclass(frozen=True)
class DrawnCase:
    """A case on one distribution: its time, and as `value` its speedup, or for the baseline its time.

    The intervals of the speedups hold jointly.
    """

    distribution: str
    records: CaseRecords
    time: Estimate
    compared: Comparison | None
    value: Estimate

    @property
    def seq(self) -> int:
        return self.records[0].seq

    @property
    def record(self) -> Record:
        return representative(self.records)

    @property
    def side(self) -> int:
        """1 where its joint interval is above 1, −1 where it is below, else 0."""
        return {FASTER: 1, SLOWER: -1}.get(read_interval(self.value.inverse), 0)


@dataclass(frozen=True)
class Sensitivity:
    """An implementation on several distributions, all else but the length fixed as `setting` says."""

    suite: str
    setting: str
    implementation: str
    baseline: str
    cases: tuple[DrawnCase, ...]
    largest: Largest

    def to_json(self, factor: float) -> dict[str, Any]:
        """As plain data; `value` is a case's speedup, for the baseline its time."""
        cases = [
            {
                "case": case.record.case,
                FIELD: case.distribution,
                "seq": case.seq,
                "status": case.record.status,
                "reason": case.record.reason,
                "time": case.time._asdict(),
                "value": case.value._asdict(),
                "figures": case.record.correctness.figures if case.record.correctness else {},
            }
            for case in self.cases
        ]
        largest = {**asdict(self.largest), "verdict": self.largest.verdict(factor)}
        return {**vars(self), "cases": cases, "largest": largest}


Drawn = Sequence[tuple[str, CaseRecords]]
Compared = Mapping[str, Comparison]  # by case; the baseline's cases have none


def sensitivities(suites: Sequence[SuiteRecords], defaults: Mapping[str, str]) -> list[Sensitivity]:
    """The sensitivity of every implementation of the suites that has two distributions or more.

    `defaults` are the distributions of workloads that name none, by family.
    """
    varied = [
        (suite, compared, setting, label, drawn)
        for suite in suites
        for compared in ({comparison.case: comparison for comparison in comparisons(suite)},)
        for (setting, label), cases in grouped(suite.by_case.values(), _setting_and_label).items()
        if (drawn := [(_distribution(case, defaults), case) for case in cases])
        and len({distribution for distribution, _ in drawn}) > 1
    ]
    factors = sum(_has_pair(drawn, compared) for _, compared, *_, drawn in varied)
    return [_sensitivity(*each, max(factors, 1)) for each in varied]


def _has_pair(drawn: Drawn, compared: Compared) -> bool:
    """Whether two distributions have a value at one length; without such a pair there is no factor."""
    valued = Counter(records[0].seq for _, records in drawn if _has_value(records, compared))
    return any(count > 1 for count in valued.values())


def _has_value(records: CaseRecords, compared: Compared) -> bool:
    """Whether a case has a speedup, or for the baseline a time."""
    comparison = compared.get(records[0].case)
    return (time_of(records).value if comparison is None else comparison.speedup) is not None


def _setting_and_label(case: CaseRecords) -> tuple[str, str]:
    record = case[0]
    fixed = sorted((n, v) for n, v in record.workload.items() if n not in {"seq", FIELD})
    fields = " ".join(f"{name}={canonical(value)}" for name, value in fixed)
    return f"{fields}, {record.mode} on {record.device}", case.label


def _distribution(case: CaseRecords, defaults: Mapping[str, str]) -> str:
    return canonical(case[0].workload.get(FIELD, defaults.get(case[0].family, "")))


def _sensitivity(
    suite: SuiteRecords, compared: Compared, setting: str, label: str, drawn: Drawn, factors: int
) -> Sensitivity:
    """The sensitivity of one implementation, whose factor is one of `factors` reported jointly."""

    def value(records: CaseRecords) -> Estimate:
        comparison = compared.get(records[0].case)
        if comparison is None:  # of the baseline
            return time_of(records)
        if comparison.speedup is None:
            return Estimate(None, reason=comparison.reason)
        return ratio(suite.baselines[records.group], records, level_of(factors, len(drawn)))

    def between(a: DrawnCase, b: DrawnCase, level: float) -> Estimate:
        """The factor between two distributions: of speedups, or of the baseline's times."""
        quotient = Estimate((a.value.value or 0.0) / (b.value.value or 1.0))
        if suite.interleaved != FIELD:
            return quotient._replace(reason=APART)
        if label == suite.baseline:
            factor = ratio(a.records, b.records, level)
        else:
            sides = [s for c in (a, b) for s in (suite.baselines[c.records.group], c.records)]
            factor = ratio_of_ratios(sides, level)
        return quotient._replace(reason=factor.reason) if factor.value is None else factor

    cases = tuple(
        DrawnCase(name, records, time_of(records), compared.get(records[0].case), value(records))
        for name, records in drawn
    )
    return Sensitivity(
        suite.name, setting, label, suite.baseline, cases, largest_factor(cases, between, factors)
    )


def largest_factor(
    cases: Sequence[DrawnCase], between: Callable[[DrawnCase, DrawnCase, float], Estimate], factors: int = 1
) -> Largest:
    """The largest factor between two distributions at one length; `factors` is how many are reported jointly.

    `between` gives the factor between two cases, with its interval at a level.
    """
    timed = [case for case in cases if case.value.value is not None]
    pairs = [(a, b) for a, b in itertools.permutations(timed, 2) if a.seq == b.seq]
    if not pairs:
        return Largest(None, reason=NO_PAIR)
    factors_one_by_one = [between(a, b, level_of(factors)) for a, b in pairs]
    factors_together = [between(a, b, level_of(factors, len(pairs))) for a, b in pairs]
    values = [factor.value or 0.0 for factor in factors_one_by_one]
    most, least = pairs[values.index(max(values))]
    is_doubtful = any(factor.doubtful for factor in factors_one_by_one)
    lows = [factor.low for factor in factors_together if factor.low is not None and not is_doubtful]
    highs = [factor.high for factor in factors_one_by_one if factor.high is not None and not is_doubtful]
    reasons = [LOADED] if is_doubtful else [factor.reason for factor in factors_together if factor.reason]
    return Largest(
        max(values),
        max(1.0, *lows) if lows else None,
        max(highs) if len(highs) == len(pairs) else None,
        *(most.seq, most.distribution, least.distribution),
        reason=next(iter(reasons), None),
    )
