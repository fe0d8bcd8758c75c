"""Lower bounds of speedups at lengths where the baseline would have taken too long to be timed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.analysis.compare import Comparison, series_of
from harness.analysis.results import SuiteRecords
from harness.analysis.scaling import Scaling
from harness.core.remedy import Remedy, remedy_of


@dataclass(frozen=True)
class LowerBound:
    """The largest speedup that was measured, at a shorter length `measured_at`, stands for one at `seq`.

    `low` and `high` are its interval at 95 %, by whose lower end it is the largest.
    """

    panel: str
    implementation: str
    seq: int
    speedup: float
    low: float
    high: float
    measured_at: int


def lower_bounds(
    suite: SuiteRecords, comparisons: Sequence[Comparison], scalings: Sequence[Scaling]
) -> list[LowerBound]:
    """A bound for each timed case whose baseline was given up, where the lead is known to grow.

    The lead grows where the interval of the baseline's exponent lies above the other's. The bound is a
    speedup with an interval that was measured at a shorter length, so it is not extrapolated; the assumption
    behind it is that both times go on growing as before.
    """
    too_long = _groups_without_time(suite)
    exponents = {(s.panel, s.implementation): s for s in scalings if s.metric == "time"}
    bounds: list[LowerBound] = []
    for (panel, label), cases in series_of(comparisons).items():
        base, own = exponents.get((panel, suite.baseline)), exponents.get((panel, label))
        if base is None or own is None or base.low is None or own.high is None or base.low <= own.high:
            continue
        largest: LowerBound | None = None
        for compared in cases:
            records = suite.by_case[compared.case]
            if largest and records.group in too_long and any(record.timing for record in records):
                bounds.append(replace(largest, seq=compared.seq))
            speedup, low, high, seq = compared.speedup, compared.low, compared.high, compared.seq
            if speedup is None or low is None or high is None or compared.same_program:
                continue
            if largest is None or low > largest.low:
                largest = LowerBound(panel, label, seq, speedup, low, high, seq)
    return bounds


def _groups_without_time(suite: SuiteRecords) -> set[str]:
    """The groups whose baseline would have run, given the time: timed out, or predicted to take too long."""
    return {
        group
        for group, (record, *_) in suite.baselines.items()
        if record.status == "timeout" or (record.status, remedy_of(record)) == ("skipped", Remedy.MORE_BUDGET)
    }
