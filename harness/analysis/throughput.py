"""Throughput: the work of a case by its family's formula, divided by the time of a call.

The formula counts the work of the case's semantics and workload, whatever the program does: it excludes pairs
hidden by a causal mask and keys that a sparse form does not select. `dense_flops` is the work of the dense
form, even if it is not done, so that sparse forms can be compared on one scale.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from harness.analysis.results import CaseRecords, representative
from harness.analysis.stats import Estimate
from harness.catalog.accelerators import accelerator_called
from harness.core.fingerprint_identity import accelerator_name
from harness.core.record import COUNTED_MODE, Record

WORK = {"flops": "FLOP/s", "dense_flops": "FLOP/s", "bytes": "B/s"}  # field of a cost → unit of its rate

Machines = Mapping[str, Mapping[str, Any]]


class Throughput(NamedTuple):
    """The work of a call per second.

    `amount` is the work of one call. `peak` is the device's documented maximum per second for the workload's
    dtype, and `share` is the rate divided by it. `dense_flops` has no peak, since that work need not be done.
    `no_peak` says why a `peak` is missing.
    """

    amount: float | None
    rate: Estimate
    peak: float | None
    share: Estimate
    no_peak: str | None

    def to_json(self) -> dict[str, Any]:
        return {
            "count": self.amount,
            **self.rate.flat_fields("per_second", "low", "high", "reason"),
            "peak": self.peak,
            **dict(zip(("share", "share_low", "share_high"), self.share, strict=False)),
            "no_peak": self.no_peak,
        }


def throughputs(records: CaseRecords, machines: Machines, time: Estimate) -> dict[str, Throughput]:
    """The throughput of a case by WORK; `machines` maps fingerprints to facts."""
    record = representative(records)
    facts = machines.get(record.fingerprint) or {}
    found: dict[str, Throughput] = {}
    for work in WORK:
        amount = getattr(record.cost, work)
        rate, (peak, no_peak) = _rate(record, amount, time), _peak(record, work, facts)
        share = rate.map(lambda each, most=peak: each / most) if peak else Estimate(None)
        found[work] = Throughput(amount, rate, peak, share, no_peak)
    return found


def _rate(record: Record, count: float | None, time: Estimate) -> Estimate:
    """Work divided by time; a shorter time gives a higher rate, so the bounds are swapped."""
    if count is None:
        return Estimate(None, reason="the family has no formula for it")
    if record.mode != COUNTED_MODE:
        return Estimate(None, reason=f"the family's formula covers only {COUNTED_MODE}")
    return time.map(lambda seconds: count / seconds, falling=True)


def _peak(record: Record, work: str, facts: Mapping[str, Any]) -> tuple[float | None, str | None]:
    """(the device's maximum per second, None) or (None, why it is unknown)."""
    if work == "dense_flops":
        return None, "the work of the dense form need not be done"
    gpu = accelerator_name(facts)
    device = accelerator_called(gpu) if gpu and facts.get("device") == "cuda" else None
    if device is None:
        on_cpu = record.device == "cpu"
        name = facts.get("cpu") or "this processor" if on_cpu else gpu or f"this {record.device}"
        return None, f"no peak is documented for {name}"
    if work == "bytes":
        return device.bandwidth_bytes_s, None
    dtype = str(record.workload.get("dtype", ""))
    if dtype not in device.peak_flops:
        return None, f"no peak of {device.name} is documented for {dtype or 'a workload without a dtype'}"
    return device.peak_flops[dtype], None
