"""Throughput: the work of a case by its family's formula, divided by the time of a call.

The formula counts the work of the case's semantics and workload, whatever the program does: it excludes pairs
hidden by a causal mask and keys that a sparse form does not select. `dense_flops` is the work of the dense
form, even if it is not done, so that sparse forms can be compared on one scale.
"""

from typing import Any, NamedTuple

from harness.analysis.results import CaseRecords, representative
from harness.analysis.stats import Estimate
from harness.core.record import COUNTED_MODE, Record

WORK = {"flops": "FLOP/s", "dense_flops": "FLOP/s", "bytes": "B/s"}  # field of a cost → unit of its rate


class Throughput(NamedTuple):
    """The work of a call, and per second."""

    amount: float | None
    rate: Estimate

    def to_json(self) -> dict[str, Any]:
        return {"count": self.amount, **self.rate.flat_fields("per_second", "low", "high", "reason")}


def throughputs(records: CaseRecords, time: Estimate) -> dict[str, Throughput]:
    """The throughput of a case by WORK."""
    record = representative(records)
    amounts = {work: getattr(record.cost, work) for work in WORK}
    return {work: Throughput(amount, _rate(record, amount, time)) for work, amount in amounts.items()}


def _rate(record: Record, count: float | None, time: Estimate) -> Estimate:
    """Work divided by time; a shorter time gives a higher rate, so the bounds are swapped."""
    if count is None:
        return Estimate(None, reason="the family has no formula for it")
    if record.mode != COUNTED_MODE:
        return Estimate(None, reason=f"the family's formula covers only {COUNTED_MODE}")
    return time.map(lambda seconds: count / seconds, falling=True)
