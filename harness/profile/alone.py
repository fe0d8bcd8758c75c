"""Stages measured alone: a program of its own, where a family has a workload for the stage."""

from collections.abc import Iterable
from typing import NamedTuple

from harness.analysis.results import label_of
from harness.analysis.stats import Estimate, time_of
from harness.core.grouped import collected
from harness.core.record import Record

STAGE = "stage"  # the workload field by which a family offers its stages alone


class AloneTime(NamedTuple):
    """What a stage takes by itself: seconds a call of the fastest implementation of the same framework."""

    implementation: str
    time: Estimate


def alone_times(record: Record, others: Iterable[Record]) -> dict[str, AloneTime]:
    """By stage: the records of the same workload, mode, device and framework that measure it alone."""
    own = record.workload.get(STAGE)
    timed = collected(
        (str(stage), AloneTime(label_of(other), time_of([other])))
        for other in others
        if other.timing and (stage := other.workload.get(STAGE, own)) != own
        if _setting(other) == _setting(record)
    )
    return {stage: min(found, key=lambda alone: alone.time.value or 0.0) for stage, found in timed.items()}


def _setting(record: Record) -> tuple[object, ...]:
    rest = {name: value for name, value in record.workload.items() if name != STAGE}
    return (record.family, record.mode, record.device, record.framework, record.fingerprint, rest)
