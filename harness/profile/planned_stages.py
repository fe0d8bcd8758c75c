"""Stages of a call that is traced and not run: their work, and bounds of their time by targets' peaks.

A bound is the larger of a stage's FLOPs over the target's FLOP/s and its bytes over bytes/s. It is no time:
what keeps a machine below its peaks is not in it. Every operator moves its operands and results once.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from harness.analysis.roof_share import COMPUTE, UNMEASURED
from harness.analysis.roofline import Roofline
from harness.catalog.accelerators import HOST, target
from harness.core.record import Record
from harness.core.static_figures import StageWork

MEMORY = "memory"  # of an accelerator, whose data file knows one level


@dataclass(frozen=True)
class Peaks:
    """The rates of a target: FLOP/s of the workload's dtype, and (bytes/s, its level) by working set."""

    flops: float
    memory: Callable[[float], tuple[float, str]]
    source: str  # who says so


@dataclass(frozen=True)
class StageBound:
    """`seconds` are the least time that a target's peaks allow, `share` is of all stages' bounds, 0 to 1."""

    seconds: float
    binds: str  # `compute`, or the level of memory
    share: float


@dataclass(frozen=True)
class StagePlan:
    """A case's stages by their work, each with its bounds by target.

    The largest by the first target's bound comes first, what no stage holds comes last.
    """

    record: Record
    stages: tuple[tuple[StageWork, Mapping[str, StageBound]], ...]
    sources: Mapping[str, str]  # by target: where its peaks come from
    missing: Mapping[str, str] = field(default_factory=dict[str, str])  # by target: why it has no bounds


def planned_case(
    record: Record, targets: Iterable[str], rooflines: Mapping[str, Roofline]
) -> StagePlan | None:
    """The stages of a traced case; None where its trace has none."""
    host = record.static.get(HOST)
    if host is None or not host.stages:
        return None
    bounds: dict[str, tuple[StageBound, ...]] = {}
    sources: dict[str, str] = {}
    missing: dict[str, str] = {}
    for name in targets:
        peaks = _peaks(record, name, rooflines)
        if isinstance(peaks, str):
            missing[name] = peaks
        else:
            bounds[name], sources[name] = _bounds(host.stages, peaks), peaks.source
    each = [
        (work, {name: found[at] for name, found in bounds.items()}) for at, work in enumerate(host.stages)
    ]
    each.sort(key=lambda stage: (not stage[0].stage, *(-bound.seconds for bound in stage[1].values())))
    return StagePlan(record, tuple(each), sources, missing)


def _peaks(record: Record, name: str, rooflines: Mapping[str, Roofline]) -> Peaks | str:
    """A target's peaks for a case, or why there are none: measured of the host, else its maker's."""
    dtype = str(record.workload.get("dtype") or "")
    wanted = target(name)
    accelerator = wanted.accelerator
    if wanted.kind != HOST and accelerator is None:
        return f"{name} is no device; name one, as in --target cuda:h100"
    if accelerator is not None:
        if dtype not in accelerator.peak_flops:
            known = ", ".join(accelerator.peak_flops)
            wanted = dtype or "a workload without a dtype"
            return f"no peak of {name} is documented for {wanted} (it has {known})"
        bandwidth = accelerator.bandwidth_bytes_s, MEMORY
        return Peaks(accelerator.peak_flops[dtype], lambda _: bandwidth, "datasheet")
    roofline = rooflines.get(record.fingerprint)
    if roofline is None:
        return UNMEASURED
    compute = roofline.compute_roof(dtype)

    def memory(working_set: float) -> tuple[float, str]:
        ceiling = roofline.memory_roof(working_set)
        return ceiling.rate, ceiling.name

    return Peaks(compute.rate, memory, f"measured ceilings, products of {compute.name}")


def _bounds(stages: Iterable[StageWork], peaks: Peaks) -> tuple[StageBound, ...]:
    """A stage that is entered n times works on an nth of its bytes at a time, as in a profile."""
    found: list[tuple[float, str]] = []
    for work in stages:
        rate, level = peaks.memory(work.bytes / max(1, work.entered))
        found.append(max((work.bytes / rate, level), (work.flops / peaks.flops, COMPUTE)))
    total = sum(seconds for seconds, _ in found)
    return tuple(StageBound(seconds, binds, seconds / total) for seconds, binds in found)
