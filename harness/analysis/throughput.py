"""Work per second: a family's analytic count of a case's work over the time of a call.

The count is the formula's for the case's own semantics and workload, whatever the program did: pairs
that a causal mask hides and keys that a sparse form does not select are left out. `dense_flops` is the
dense counterpart's work, done or not, so that forms that do less can be ranked by one yardstick.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from harness.analysis.results import CaseRecords, SuiteRecords, representative
from harness.analysis.stats import Estimate
from harness.catalog.accelerators import accelerator_called
from harness.core.fingerprint_identity import accelerator_name
from harness.core.record import COUNTED_MODE, Record

WORK = {"flops": "FLOP/s", "dense_flops": "FLOP/s", "bytes": "B/s"}  # field of a cost → its unit a second


@dataclass(frozen=True)
class Throughput:
    """A case's `work` (one of WORK) per second; `low` and `high` follow from the time's interval.

    `count` is the work of one call. `peak` is what the device does per second at most, as its maker
    documents it for the workload's dtype, and `share` is `per_second` over it. There is none for
    `dense_flops`, which need not be done at all. `reason` is the cause of a missing `per_second`,
    `low` or `high`, `no_peak` of a missing `peak`.
    """

    suite: str
    case: str
    implementation: str
    panel: str
    seq: int
    work: str
    unit: str
    count: float | None
    per_second: float | None
    low: float | None
    high: float | None
    reason: str | None
    peak: float | None
    share: float | None
    share_low: float | None
    share_high: float | None
    no_peak: str | None


def throughputs(suite: SuiteRecords, times: Mapping[str, Estimate]) -> list[Throughput]:
    """The throughputs of every case in the order of the suite's records, one for each of WORK.

    `times` are the cases' by their ids.
    """
    return [
        entry for case, records in suite.by_case.items() for entry in _of_case(suite, records, times[case])
    ]


def _of_case(suite: SuiteRecords, records: CaseRecords, time: Estimate) -> Iterable[Throughput]:
    record = representative(records)
    for work, unit in WORK.items():
        count = getattr(record.cost, work)
        rate = _rate(record, count, time)
        peak, no_peak = _peak(record, work, suite.fingerprints.get(record.fingerprint) or {})
        share = rate.map(lambda each, peak=peak: each / peak if peak else None)
        yield Throughput(
            suite=suite.name,
            **records.point,
            work=work,
            unit=unit,
            count=count,
            **rate.flat_fields("per_second", "low", "high", "reason"),
            peak=peak,
            share=share.value,
            share_low=share.low,
            share_high=share.high,
            no_peak=no_peak,
        )


def _rate(record: Record, count: float | None, time: Estimate) -> Estimate:
    """Work over time: the shorter the time, the higher the rate, so the bounds change places."""
    if count is None:
        return Estimate(None, reason="the family has no formula for it")
    if record.mode != COUNTED_MODE:
        return Estimate(None, reason=f"the family's formula is of {COUNTED_MODE} alone")
    return time.map(lambda seconds: count / seconds, falling=True)


def _peak(record: Record, work: str, facts: Mapping[str, Any]) -> tuple[float | None, str | None]:
    """(the most that the device does per second, None) or (None, why that is not known)."""
    if work == "dense_flops":
        return None, "the dense counterpart's work need not be done"
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
