"""The measured roofline of a machine: ceilings of FLOP/s by dtype and of bytes/s by working set.

A ceiling is the fastest round of the fastest kernel, like in Berkeley's Empirical Roofline Toolkit. On a
shared machine rates vary by a third within minutes, and real calls can be faster than the median of a few
rounds. A smaller working set is at least as fast as a larger one; if call overhead hides that, the larger
one's rate is used.

A case's share is its work per second over the lower of two roofs: the compute roof, and the memory roof of
its working set (bytes/s of the level with enough capacity, times FLOPs per byte). No call can exceed the
compute roof, so a share above it is refused as a measurement error. A share above a memory roof only gets a
note, because the counted bytes may come from a faster level.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from harness.analysis.stats import Estimate, over_rounds
from harness.core.plain_data import from_plain
from harness.core.record import COUNTED_MODE, Record, StageFigures

WIDTHS = {"f64": 8, "f32": 4, "tf32": 4, "bf16": 2, "f16": 2}  # bytes of an operand
DRAM = "DRAM"
BEYOND = 4  # a stream of this many times the last cache's size has no part in the cache
WITHIN = 0.75  # usable share of a cache, which also has the stack and the code
COMPUTE = "compute"
MEASURE = "seqsweep doctor --roofline"
UNMEASURED = f"no ceilings measured for this machine, versions and threads; run {MEASURE}"
REFUSAL = (
    "refused: faster than matrix products of {} on this machine. The time, the work or the ceiling is "
    f"wrong; measure the ceiling again with {MEASURE}"
)
REMARK = "above the bandwidth of {}: its bytes are in a cache or are counted more often than moved"
NONE = Estimate(None)


@dataclass(frozen=True)
class Readings:
    """The rounds of one kernel: work per second, in FLOPs of a `dtype`, or in bytes if that is empty."""

    kernel: str
    dtype: str
    size: int  # a matrix's side, or bytes of working set
    per_second: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.per_second or not min(self.per_second) > 0:
            raise ValueError(f"{self.kernel}: rates must be positive")

    @cached_property
    def median(self) -> Estimate:
        return over_rounds(self.per_second)


@dataclass(frozen=True)
class Ceiling:
    """The maximum work per second for a dtype or a memory level, and the kernel that reached it.

    `rate` is that of its fastest round (FLOP/s or bytes/s), `median` is over all its rounds.
    """

    name: str  # `f32`, `L2`, `DRAM`
    kernel: str
    size: int  # a matrix's side, or bytes of working set
    rate: float
    median: Estimate

    @classmethod
    def of(cls, name: str, readings: Iterable[Readings]) -> "Ceiling":
        best = max(readings, key=lambda reading: max(reading.per_second))
        return cls(name, best.kernel, best.size, max(best.per_second), best.median)


@dataclass(frozen=True)
class Roofline:
    """A machine's readings; `caches` are the bytes of each level, for all measured cores together."""

    caches: Mapping[str, int]
    readings: tuple[Readings, ...]
    measured: str = ""  # UTC, ISO 8601
    load: float = 0.0  # processes that ran or waited on average in the minute before

    def __post_init__(self) -> None:
        if not self.compute or not self.curve:
            raise ValueError("a roofline needs rates of matrix products and of streams")

    @cached_property
    def compute(self) -> dict[str, Ceiling]:
        """FLOP/s by dtype."""
        kinds = dict.fromkeys(reading.dtype for reading in self.readings if reading.dtype)
        return {kind: Ceiling.of(kind, (r for r in self.readings if r.dtype == kind)) for kind in kinds}

    @cached_property
    def curve(self) -> dict[int, Ceiling]:
        """Bytes/s by working set, smallest first; each is the maximum over this and all larger sizes."""
        streams = [reading for reading in self.readings if not reading.dtype]
        sizes = sorted({reading.size for reading in streams})
        return {size: Ceiling.of(self.level(size), (r for r in streams if r.size >= size)) for size in sizes}

    @cached_property
    def levels(self) -> dict[str, Ceiling]:
        """Bytes/s of every cache and of DRAM, as far as working sets there were measured."""
        last = max(self.caches.values(), default=0)
        found: dict[str, Ceiling] = {}
        for size, ceiling in self.curve.items():
            inside = (
                size >= BEYOND * last if ceiling.name == DRAM else size <= WITHIN * self.caches[ceiling.name]
            )
            if inside and ceiling.name not in found:
                found[ceiling.name] = ceiling
        return found

    def level(self, size: float) -> str:
        """The fastest memory level with enough capacity for a working set."""
        by_size = sorted(self.caches.items(), key=lambda cache: cache[1])
        return next((name for name, capacity in by_size if size <= capacity), DRAM)

    def memory_roof(self, size: float) -> Ceiling:
        """Bytes/s for a working set: that of the next smaller measured size, so that it is a ceiling."""
        smaller = [known for known in self.curve if known <= size]
        ceiling = self.curve[max(smaller, default=min(self.curve))]
        return replace(ceiling, name=self.level(size))

    def compute_roof(self, dtype: str) -> Ceiling:
        """FLOP/s for operands of a dtype: the maximum over dtypes at least as wide, for possible conversions.

        An unknown dtype has the maximum over all.
        """
        width = WIDTHS.get(dtype, 0)
        able = [ceiling for kind, ceiling in self.compute.items() if WIDTHS.get(kind, 0) >= width]
        return max(able or self.compute.values(), key=lambda ceiling: ceiling.rate)


def roofline_of(data: Any) -> Roofline:
    """The roofline from plain data. ValueError for invalid data."""
    return from_plain(Roofline, data)


@dataclass(frozen=True)
class Work:
    """The work of one call: FLOPs for operands of a dtype, bytes, and its working set in bytes."""

    dtype: str
    flops: float | None
    bytes: float | None
    working_set: float


@dataclass(frozen=True)
class RoofShare:
    """The share of the limiting roof, which is `compute` or a memory level; 1 means at the roof.

    `reason` says why a share is missing, `refused` why it is invalid.
    """

    roof: str = ""
    share: Estimate = NONE
    reason: str = ""
    refused: str = ""
    note: str = ""


def case_share(record: Record, time: Estimate, rooflines: Mapping[str, Roofline]) -> RoofShare:
    """The share of a whole case, by the family's formula for the work of its semantics."""
    if record.mode != COUNTED_MODE:
        return RoofShare(reason=f"the family's formula covers only {COUNTED_MODE}")
    cost = record.cost
    work = Work(_dtype(record), cost.flops, cost.bytes, cost.bytes or 0.0)
    return roof_share(rooflines.get(record.fingerprint), work, time)


def stage_share(
    record: Record, figures: StageFigures, time: Estimate, rooflines: Mapping[str, Roofline]
) -> RoofShare:
    """The share of a stage, over the time of its operators.

    If a call enters a stage n times, its working set is 1/n of its bytes; without n it is all of them.
    """
    working_set = (figures.bytes or 0) / (figures.entered or 1)
    work = Work(_dtype(record), figures.flops, figures.bytes, working_set)
    return roof_share(rooflines.get(record.fingerprint), work, time)


def roof_share(roofline: Roofline | None, work: Work, time: Estimate) -> RoofShare:
    """The share of the roof that limits the work more."""
    if roofline is None:
        return RoofShare(reason=UNMEASURED)
    if not time.value:
        return RoofShare(reason=time.reason or "its time is 0")
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
        return RoofShare(reason="its FLOPs and bytes are unknown")
    if shares[0].refused:
        return shares[0]
    return max(shares, key=lambda known: known.share.value or 0.0)


def _share(work: float, roof: Ceiling, time: Estimate) -> Estimate:
    """The share of a roof, with an interval from the time's: the longest time gives the least share."""
    shares = time.map(lambda seconds: work / (seconds * roof.rate) if seconds else None, falling=True)
    return shares._replace(warnings=())  # the time has them


def _is_above(share: Estimate) -> bool:
    return share.low is not None and share.low > 1


def _dtype(record: Record) -> str:
    return str(record.workload.get("dtype") or "")
