"""Stages of a profiled case: times, shares of the call, and growth with the length.

All intervals are at 95 % over the rounds of one process, for display only.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from harness.analysis.scaling import fit
from harness.analysis.stats import Estimate, over_rounds
from harness.core.grouped import collected
from harness.core.record import OperatorFigures, Profile, Record, StageFigures
from harness.core.stage import JOINED

RESIDUAL = ""  # time outside all stages
LARGE_SHARE = 0.02  # of the longest call; the growth of smaller stages is not reported


@dataclass(frozen=True)
class StageTime:
    """One stage at one length. `time` is in seconds per call, `share` is of the marked call, 0 to 1.

    `busy` is the time in seconds in which its operators ran, including overlap with other stages.
    """

    stage: str  # or RESIDUAL
    time: Estimate
    share: Estimate
    busy: Estimate
    figures: StageFigures

    @property
    def flops_per_s(self) -> float | None:
        """FLOP/s of its matrix products and attention kernels; None without them."""
        return self.figures.flops / self.busy.value if self.figures.flops and self.busy.value else None


@dataclass(frozen=True)
class ProfiledCase:
    """A case's stages, the largest first, then the residual.

    `whole` is the time of a call without marks, `sum` that of all stages without the residual, in seconds.
    `covered` is `sum` over the marked call, `cost` the marked call over the unmarked one.
    """

    record: Record
    whole: Estimate
    sum: Estimate
    covered: Estimate
    cost: Estimate
    stages: tuple[StageTime, ...]

    @property
    def seq(self) -> int:
        return self.record.seq

    @property
    def operators(self) -> tuple[OperatorFigures, ...]:
        """The slowest operators of one profiled call, slowest first; empty if not requested."""
        return self.record.profile.operators if self.record.profile else ()

    def of(self, stage: str) -> StageTime | None:
        return next((entry for entry in self.stages if entry.stage == stage), None)


class Growth(NamedTuple):
    """Growth of a stage's time, ∝ seq^exponent, fitted over the lengths that have the stage."""

    stage: str
    exponent: float
    low: float | None
    high: float | None


def profiled_case(record: Record) -> ProfiledCase | None:
    """The stages of a record; None without a profile."""
    profile = record.profile
    if profile is None:
        return None
    marked = _sums(profile, profile.stages)
    sums = _sums(profile, [stage for stage in profile.stages if stage.stage != RESIDUAL])
    stages = [_stage_time(stage, marked) for stage in profile.stages]
    stages.sort(key=lambda entry: (entry.stage == RESIDUAL, -(entry.time.value or 0)))
    return ProfiledCase(
        record,
        whole=over_rounds(profile.plain_s),
        sum=over_rounds(sums),
        covered=_share(sums, marked),
        cost=over_rounds([whole / plain for whole, plain in zip(marked, profile.plain_s, strict=True)]),
        stages=tuple(stages),
    )


def profiled_series(records: Iterable[Record]) -> dict[str, list[ProfiledCase]]:
    """The profiled cases of each series (cases that differ only in length), shortest first."""
    profiled = ((record.as_case.series, profiled_case(record)) for record in records)
    series = collected((name, case) for name, case in profiled if case is not None)
    for cases in series.values():
        cases.sort(key=lambda case: case.seq)
    return series


def growths(cases: Sequence[ProfiledCase]) -> list[Growth]:
    """The growth of the large stages at a series' longest length, the steepest first.

    Empty with a single length.
    """
    large = [entry.stage for entry in cases[-1].stages if (entry.share.value or 0) >= LARGE_SHARE]
    single = [stage for stage in large if stage != RESIDUAL and JOINED not in stage]
    times = {stage: values for stage in single if len(values := _times(cases, stage)) > 1}
    found = [Growth(stage, *fit(values)) for stage, values in times.items()]
    return sorted(found, key=lambda growth: -growth.exponent)


def _times(cases: Sequence[ProfiledCase], stage: str) -> dict[int, float]:
    """Seconds of a stage by length, for lengths that have it."""
    entries = ((case.seq, case.of(stage)) for case in cases)
    return {seq: entry.time.value for seq, entry in entries if entry is not None and entry.time.value}


def _stage_time(stage: StageFigures, marked: Sequence[float]) -> StageTime:
    share = _share(stage.samples_s, marked)
    return StageTime(stage.stage, over_rounds(stage.samples_s), share, over_rounds(_busy(stage)), stage)


def _share(parts: Sequence[float], wholes: Sequence[float]) -> Estimate:
    """A share of marked calls; 0 in a round without measurable operator time."""
    return over_rounds([part / (whole or 1.0) for part, whole in zip(parts, wholes, strict=True)])


def _busy(stage: StageFigures) -> list[float]:
    """Seconds in which a stage ran, by round."""
    overlapped = stage.beside_s or (0.0,) * len(stage.samples_s)
    return [own + more for own, more in zip(stage.samples_s, overlapped, strict=True)]


def _sums(profile: Profile, stages: Sequence[StageFigures]) -> list[float]:
    """Total seconds of these stages, by round."""
    return [math.fsum(stage.samples_s[i] for stage in stages) for i in range(len(profile.plain_s))]


def bounds(estimate: Estimate) -> tuple[float, float | None, float | None]:
    """The value, 0 if missing, and its interval."""
    return estimate.value or 0.0, estimate.low, estimate.high


def estimate_data(estimate: Estimate, unit: str = "") -> dict[str, Any]:
    """An estimate as plain data, with its unit in the names."""
    suffix = f"_{unit}" if unit else ""
    return {
        f"value{suffix}": estimate.value,
        f"low{suffix}": estimate.low,
        f"high{suffix}": estimate.high,
        estimate.unit or "rounds": estimate.samples,
        "reason": estimate.reason,
    }
