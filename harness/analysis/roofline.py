"""The measured roofline of a machine: ceilings of FLOP/s by dtype and of bytes/s by working set.

A ceiling is the fastest round of the fastest kernel, like in Berkeley's Empirical Roofline Toolkit. On a
shared machine rates vary by a third within minutes, and real calls can be faster than the median of a few
rounds. A smaller working set is at least as fast as a larger one; if call overhead hides that, the larger
one's rate is used.

The bound of a case is the longer of two times: its FLOPs over the compute roof, and its bytes over the memory
roof of its working set (bytes/s of the level with enough capacity). Its share is the bound over its time. A
GPU without measured ceilings has those of its data sheet.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from harness.analysis.kernel_warnings import idle, slow_path, warning_sentences
from harness.analysis.stats import Estimate, over_rounds
from harness.catalog.accelerators import Accelerator, accelerator_called, target
from harness.core.fingerprint_identity import accelerator_name
from harness.core.plain_data import from_plain
from harness.core.record import COUNTED_MODE, Record, StageFigures

WIDTHS = {"f64": 8, "f32": 4, "tf32": 4, "bf16": 2, "f16": 2}  # bytes of an operand
DRAM = "DRAM"
BEYOND = 4  # a stream of this many times the last cache's size has no part in the cache
WITHIN = 0.75  # usable share of a cache, which also has the stack and the code
COMPUTE, LATENCY = "compute", "latency"
FILE = "rooflines.json"
MEASURE = "seqsweep doctor --roofline"
REMEDY = f"delete it, and measure again with {MEASURE}"
UNMEASURED = f"no ceilings measured for this machine, versions and threads; run {MEASURE}"
DATA_SHEET = "data sheet"
FAR = 0.5  # only a share below this may be due to latency
ABOVE_COMPUTE = "faster than matrix products of {}: more work is counted than done, or the ceiling is too low"
ABOVE_MEMORY = "above the bandwidth of {}: its bytes are in a cache or are counted more often than moved"
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


def known_rooflines(*folders: Path) -> dict[str, Roofline]:
    """Fingerprint → roofline, from the last folder that has it. UsageError for an invalid file."""
    from harness.store import json_file

    paths = [path for folder in folders if (path := folder / FILE).exists()]
    read = [json_file.read_object(path, REMEDY, dict[str, Roofline]) for path in paths]
    return {machine: roofline_of(data) for found in read for machine, data in found.items()}


@dataclass(frozen=True)
class Work:
    """The work of one call: FLOPs for operands of a dtype, bytes, and its working set in bytes."""

    dtype: str
    flops: float | None
    bytes: float | None
    working_set: float


@dataclass(frozen=True)
class RoofShare:
    """The least time of a call, and its share of the measured time; 1 means at the roof.

    `roof` is the limiting roof: `compute` or a memory level. `word` names it, or is `latency` if that
    explains the time. `why` is what is known about a share far below 1, `reason` says why a share is missing,
    and `note` why it is above 1.
    """

    roof: str = ""
    bound_s: float | None = None
    share: Estimate = NONE
    ceilings: str = ""
    word: str = ""
    why: str = ""
    reason: str = ""
    note: str = ""


def case_share(
    record: Record, time: Estimate, rooflines: Mapping[str, Roofline], facts: Mapping[str, Any] | None = None
) -> RoofShare:
    """The share of a whole case, by the family's formula for the work of its semantics.

    `facts` are those of machines by fingerprint, which name their GPUs.
    """
    if record.mode != COUNTED_MODE:
        return RoofShare(reason=f"the family's formula covers only {COUNTED_MODE}")
    known, work = rooflines.get(record.fingerprint), case_work(record)
    gpu = gpu_of(record, facts or {})
    found = roof_share(known, work, time) if known or gpu is None else datasheet_share(gpu, work, time)
    if record.device != "cuda" or (found.share.value or FAR) >= FAR:
        return found
    limited, why = _explanation(record, gpu)
    return replace(found, word=LATENCY if limited else found.word, why=why)


def gpu_of(record: Record, facts: Mapping[str, Any]) -> Accelerator | None:
    """The documented GPU on which a case ran, by the facts of machines."""
    name = accelerator_name(facts.get(record.fingerprint) or {})
    return accelerator_called(name) if name and record.device == "cuda" else None


def _explanation(record: Record, gpu: Accelerator | None) -> tuple[bool, str]:
    """(whether latency limits a case, what its plan for this GPU or its launches say about a long time)."""
    plans = (
        [record.static[name] for name in (gpu.name, record.device) if name in record.static] if gpu else []
    )
    kernels = [kernel for plan in plans for kernel in plan.kernels]
    if gpu and kernels:
        why = warning_sentences(kernels, gpu.name, warnings=(slow_path, idle))
        return all(idle(kernel, target(gpu.name)) for kernel in kernels), "; ".join(why)
    launches = sum(count for _, count in record.kernels_run)
    waits = launches > 1 and record.timing is not None and record.timing.launch_bound
    return waits, f"the host launches its {launches} kernels more slowly than they run" if waits else ""


def case_work(record: Record) -> Work:
    """The work of a whole case by the family's formula. A call on a GPU finds its inputs in no cache."""
    moved = record.cost.bytes
    working_set = math.inf if record.device == "cuda" else moved or 0.0
    return Work(_dtype(record), record.cost.flops, moved, working_set)


def datasheet_share(device: Accelerator, work: Work, time: Estimate = NONE) -> RoofShare:
    """The share of the roof from a device's documented rates."""
    peak = device.peak_flops.get(work.dtype)
    if work.flops and peak is None:
        of = work.dtype or "a workload without a dtype"
        return RoofShare(reason=f"no peak of {device.name} is documented for {of}")
    rates = {work.dtype or COMPUTE: peak or math.inf, "": device.bandwidth_bytes_s}
    documented = tuple(Readings(DATA_SHEET, kind, 0, (rate,)) for kind, rate in rates.items())
    found = roof_share(Roofline({}, documented), work, time)
    return replace(found, ceilings=f"{DATA_SHEET} of {device.name}")


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
    compute, memory = roofline.compute_roof(work.dtype), roofline.memory_roof(work.working_set)
    bounds: list[tuple[float, str, str]] = []
    if work.flops:
        bounds.append((work.flops / compute.rate, COMPUTE, ABOVE_COMPUTE.format(compute.name)))
    if work.bytes:
        bounds.append((work.bytes / memory.rate, memory.name, ABOVE_MEMORY.format(memory.name)))
    if not bounds:
        return RoofShare(reason="its FLOPs and bytes are unknown")
    bound, roof, above = max(bounds)
    # The longest time gives the least share. The time has its own warnings.
    share = time.map(lambda each: bound / each if each else None, falling=True)._replace(warnings=())
    return RoofShare(
        roof,
        bound,
        share,
        ceilings="measured",
        word="memory" if roof == DRAM else roof,
        reason="" if share.value is not None else time.reason or "its time is 0",
        note=above if share.low is not None and share.low > 1 else "",
    )


def _dtype(record: Record) -> str:
    return str(record.workload.get("dtype") or "")
