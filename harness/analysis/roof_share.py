"""The share of what binds: work per second over the lower of the compute roof and the memory roof.

The memory roof is that of the working set: bytes/s of the level that holds it, times FLOPs per byte. Nothing
is faster than the compute roof, so a share above it is refused as an error of measurement. Above a memory
roof it is a remark: counted bytes need not have been moved from there.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from harness.analysis.roofline import Ceiling, Roofline
from harness.analysis.stats import Estimate
from harness.core.record import COUNTED_MODE, Record, StageFigures

COMPUTE = "compute"
MEASURE = "seqsweep doctor --roofline"
UNMEASURED = f"no ceilings of this machine, versions and threads are kept: {MEASURE} measures them"
REFUSAL = (
    "refused: faster than products of {} here, which nothing is, so the time, the count or the ceiling is "
    f"wrong; measure the ceiling again: {MEASURE}"
)
REMARK = "above what {} gives: its bytes are cache-resident or counted more often than moved"

NONE = Estimate(None)


@dataclass(frozen=True)
class Work:
    """What one call does: FLOPs for operands of a dtype, bytes, and the bytes that it works on at a time."""

    dtype: str
    flops: float | None
    bytes: float | None
    working_set: float


@dataclass(frozen=True)
class RoofShare:
    """`share` of the roof that binds, which is `compute` or a level of memory; 1 is the roof itself.

    `reason` is the cause of a missing share. One that is `refused` is no share: the sentence says why.
    """

    roof: str = ""
    share: Estimate = NONE
    reason: str = ""
    refused: str = ""
    note: str = ""


def case_share(record: Record, time: Estimate, rooflines: Mapping[str, Roofline]) -> RoofShare:
    """The share of a whole case, by its family's count of the work that its semantics need."""
    if record.mode != COUNTED_MODE:
        return RoofShare(reason=f"the family's formula is of {COUNTED_MODE} alone")
    cost = record.cost
    work = Work(_dtype(record), cost.flops, cost.bytes, cost.bytes or 0.0)
    return roof_share(rooflines.get(record.fingerprint), work, time)


def stage_share(
    record: Record, figures: StageFigures, time: Estimate, rooflines: Mapping[str, Roofline]
) -> RoofShare:
    """The share of a stage in the time its operators ran; one that is entered n times works on an nth each.

    Where the number is not known all bytes are taken for one working set.
    """
    working_set = (figures.bytes or 0) / (figures.entered or 1)
    work = Work(_dtype(record), figures.flops, figures.bytes, working_set)
    return roof_share(rooflines.get(record.fingerprint), work, time)


def roof_share(roofline: Roofline | None, work: Work, time: Estimate) -> RoofShare:
    """The share of the roof that allows less of the work in this time."""
    if roofline is None:
        return RoofShare(reason=UNMEASURED)
    if not time.value:
        return RoofShare(reason=time.reason or "it took no time")
    shares: list[RoofShare] = []
    if work.flops:
        compute = roofline.compute_roof(work.dtype)
        of_compute = _share(work.flops, compute, time)
        refused = REFUSAL.format(compute.name) if _is_above(of_compute) else ""
        shares.append(RoofShare(COMPUTE, of_compute, refused=refused))
    if work.bytes:
        memory = roofline.memory_roof(work.working_set)
        of_memory = _share(work.bytes, memory, time)
        note = REMARK.format(memory.name) if _is_above(of_memory) else ""
        shares.append(RoofShare(memory.name, of_memory, note=note))
    if not shares:
        return RoofShare(reason="neither FLOPs nor bytes are known")
    if shares[0].refused:
        return shares[0]
    return max(shares, key=lambda known: known.share.value or 0.0)


def _share(work: float, roof: Ceiling, time: Estimate) -> Estimate:
    """Its interval is the time's: the least share is over the longest time."""
    shares = time.map(lambda seconds: work / (seconds * roof.rate) if seconds else None, falling=True)
    return shares._replace(warnings=())  # they stand at the time


def _is_above(share: Estimate) -> bool:
    return share.low is not None and share.low > 1


def _dtype(record: Record) -> str:
    return str(record.workload.get("dtype") or "")
