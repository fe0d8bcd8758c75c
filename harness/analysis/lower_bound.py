"""What a speedup is at least where the baseline would have taken too long to be timed."""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.analysis.compare import Comparison
from harness.analysis.results import SuiteRecords, group_of
from harness.analysis.scaling import Scaling


@dataclass(frozen=True)
class LowerBound:
    """The largest speedup that was measured, at a shorter length `measured_at`, stands for one at `seq`."""

    panel: str
    implementation: str
    seq: int
    speedup: float
    measured_at: int


def lower_bounds(
    suite: SuiteRecords, comparisons: Sequence[Comparison], scalings: Sequence[Scaling]
) -> list[LowerBound]:
    """A bound for each timed case whose baseline was given up, where the lead is known to grow.

    It is where the baseline's time grows faster: the interval of its exponent lies above the other's. The
    bound is measured, not extrapolated; that both go on to grow as before is the assumption behind it.
    """
    too_long = _groups_without_time(suite)
    exponents = {(s.panel, s.implementation): s for s in scalings if s.metric == "time"}
    group_by_case = {record.case: group_of(record) for record in suite.records if record.timing}
    bounds: list[LowerBound] = []
    for compared in comparisons:
        base = exponents.get((compared.panel, suite.baseline))
        own = exponents.get((compared.panel, compared.implementation))
        if group_by_case.get(compared.case) not in too_long or base is None or own is None:
            continue
        shorter = [
            (other.speedup, other.seq)
            for other in comparisons
            if (other.panel, other.implementation) == (compared.panel, compared.implementation)
            and other.speedup is not None
            and not other.same_program
            and other.seq < compared.seq
        ]
        if shorter and base.low is not None and own.high is not None and base.low > own.high:
            most, at = max(shorter)
            bounds.append(LowerBound(compared.panel, compared.implementation, compared.seq, most, at))
    return bounds


def _groups_without_time(suite: SuiteRecords) -> set[str]:
    """The groups whose baseline would have run, given the time: timed out, or predicted to take too long."""
    return {
        group
        for group, (record, *_) in suite.baselines.items()
        if record.status == "timeout" or (record.status == "skipped" and "predicted" in (record.reason or ""))
    }
