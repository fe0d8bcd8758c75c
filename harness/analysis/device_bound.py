"""The roofline bound of a call: the least time that a device's documented rates allow; nothing is measured.

The model is that of Williams, Waterman and Patterson (CACM 52(4), 2009) for one call: FLOPs over the peak of
the workload's dtype, or bytes over the bandwidth of memory, whichever takes longer, by the family's formula.
"""

from typing import NamedTuple

from harness.analysis.results import SuiteRecords, representative
from harness.catalog.accelerators import accelerators
from harness.core.grouped import collected
from harness.core.record import COUNTED_MODE, Record


class DeviceBound(NamedTuple):
    """The bound of one call in seconds, and which of the device's rates gives it: `FLOPs` or `bytes`."""

    seconds: float
    by: str


def device_bound(record: Record, target: str) -> DeviceBound | None:
    """The bound of a case on one accelerator (`cuda:h100`).

    None where the family counts no FLOPs or bytes in this mode, where the target is no single device, and
    where no source gives its peak for the workload's dtype.
    """
    device, cost = accelerators().get(target), record.cost
    if device is None or cost.flops is None or cost.bytes is None or record.mode != COUNTED_MODE:
        return None
    peak = device.peak_flops.get(str(record.workload.get("dtype", "")))
    if peak is None:
        return None
    return max(
        DeviceBound(cost.flops / peak, "FLOPs"), DeviceBound(cost.bytes / device.bandwidth_bytes_s, "bytes")
    )


def device_bounds(panel: SuiteRecords, target: str) -> dict[str, dict[int, DeviceBound]]:
    """The bounds of a panel's implementations on one accelerator, by name and by length, shortest first."""
    known = (
        (records.label, (records[0].seq, found))
        for records in panel.by_case.values()
        if (found := device_bound(representative(records), target))
    )
    return {label: dict(sorted(found)) for label, found in collected(known).items()}


def first_below(bounds: dict[str, dict[int, DeviceBound]], baseline: str) -> dict[str, int]:
    """Implementation → the length from which on its bound is below the baseline's, to the longest of both."""
    begins: dict[str, int] = {}
    base = bounds.get(baseline, {})
    for label, own in bounds.items():
        shared = [seq for seq in own if seq in base]
        above = [seq for seq in shared if own[seq].seconds >= base[seq].seconds]
        below = [seq for seq in shared if not above or seq > above[-1]]
        if below:
            begins[label] = below[0]
    return begins
