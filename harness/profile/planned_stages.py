"""Stages of a call that is traced and not run: their work, and bounds of their time by targets' peaks.

A bound is the larger of a stage's FLOPs over the target's FLOP/s and its bytes over bytes/s, where every
operator moves its operands and results once. It is no time: nothing in it keeps a machine below its peaks.
The bounds come first, then how they are printed and written as JSON.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.text import Text

from harness.analysis.results import label_of
from harness.analysis.roofline import COMPUTE, UNMEASURED, Roofline
from harness.catalog.accelerators import HOST, target
from harness.core.record import Record
from harness.core.static_figures import StageWork
from harness.core.units import format_big, format_bytes, format_count, format_seconds
from harness.profile.report import NO_STAGE
from harness.report.format import ABSENT
from harness.report.tables.render import print_tables
from harness.report.tables.table_data import Column, TableData

MEMORY = "memory"  # of an accelerator, whose data file knows one level
CAPTION = (
    "bound: a lower bound by roofline, not a time: the larger of a stage's FLOPs over FLOP/s and of its "
    "bytes over bytes/s. share: of the sum of the bounds. FLOPs, of matrix products and attention kernels, "
    "and bytes, read and written by every operator, are those of a trace for the host. Stages inside another "
    "stand apart (outer/inner)."
)
COLUMNS = (
    Column("seq"),
    Column("stage", right=False),
    Column("times", rank=3),
    Column("operators", rank=3),
    Column("FLOPs", rank=1),
    Column("bytes", rank=1),
)


@dataclass(frozen=True)
class Peaks:
    """The rates of a target: FLOP/s of the workload's dtype, and (bytes/s, its level) by working set."""

    flops: float
    memory: Callable[[float], tuple[float, str]]
    source: str  # where the rates come from


@dataclass(frozen=True)
class StageBound:
    """The least time of a stage by a target's peaks; `share` is that of all stages' bounds, 0 to 1."""

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


def plan_stages(
    record: Record, targets: Iterable[str], rooflines: Mapping[str, Roofline]
) -> StagePlan | None:
    """The stages of a traced case with their bounds; None where its trace has no stages."""
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
    """The bounds of the stages; the working set of one that is entered n times is an n-th of its bytes."""
    found: list[tuple[float, str]] = []
    for work in stages:
        rate, level = peaks.memory(work.bytes / max(1, work.entered))
        found.append(max((work.bytes / rate, level), (work.flops / peaks.flops, COMPUTE)))
    total = sum(seconds for seconds, _ in found) or 1.0  # stages without any work have no share
    return tuple(StageBound(seconds, binds, seconds / total) for seconds, binds in found)


def print_planned(console: Console, cases: Sequence[StagePlan]) -> None:
    """Print what takes most by each target's bounds, then a table; cases are ordered by series and length."""
    for series, found in groupby(cases, key=lambda case: case.record.as_case.series):
        of_series = list(found)
        sample = of_series[0].record
        console.print(Text(f"{label_of(sample)}, planned: {series}", style="bold"), soft_wrap=True)
        for sentence in sentences(of_series[-1]):
            console.print(Text(sentence), soft_wrap=True)
        print_tables(console, _table(of_series))
    if cases:
        console.print(Text(CAPTION, style="dim"), soft_wrap=True)


def sentences(longest: StagePlan) -> Iterator[str]:
    """The three stages with the largest bounds by target, or why it has none."""
    for name, source in longest.sources.items():
        bounds = [(work.stage or NO_STAGE, by_target[name]) for work, by_target in longest.stages]
        by_share = sorted(bounds, key=lambda stage: -stage[1].share)
        largest = ", ".join(f"{stage} {_percent(b.share)} ({b.binds})" for stage, b in by_share[:3])
        total = format_seconds(sum(bound.seconds for _, bound in bounds))
        at = format_count(longest.record.seq)
        yield f"At {at} on {name} ({source}) the bounds add up to {total}: {largest}."
    for name, reason in longest.missing.items():
        yield f"{name}: no bounds: {reason}."


def _table(cases: Sequence[StagePlan]) -> TableData:
    columns = [
        Column(title, right=title != "binds", rank=rank)
        for name in cases[0].sources
        for title, rank in ((f"{name} bound", 0), ("share", 0), ("binds", 2))
    ]
    sections = [([format_count(case.record.seq)], _rows(case)) for case in cases]
    return TableData.of_sections("", (*COLUMNS, *columns), sections)


def _rows(case: StagePlan) -> Iterator[tuple[str, ...]]:
    for work, bounds in case.stages:
        yield (
            work.stage or NO_STAGE,
            str(work.entered) if work.stage else "",
            str(work.operators),
            format_big(work.flops) if work.flops else ABSENT,
            format_bytes(work.bytes),
            *(t for b in bounds.values() for t in (format_seconds(b.seconds), _percent(b.share), b.binds)),
        )


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def planned_data(cases: Sequence[StagePlan]) -> list[dict[str, Any]]:
    """The planned stages as plain data: seconds, shares from 0 to 1, counts of one call."""
    return [
        {
            "case": case.record.case,
            "implementation": label_of(case.record),
            "seq": case.record.seq,
            "peaks": dict(case.sources),
            "without_bounds": dict(case.missing),
            "stages": [
                {**asdict(work), "bounds": {name: asdict(bound) for name, bound in bounds.items()}}
                for work, bounds in case.stages
            ],
        }
        for case in cases
    ]
