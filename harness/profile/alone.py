"""Stages measured alone: a program of its own, where a family has a workload for the stage."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from harness.analysis.results import label_of
from harness.analysis.stats import ROUNDS, Estimate
from harness.core.record import Record

STAGE = "stage"  # the workload field by which a family offers its stages alone


class AloneTime(NamedTuple):
    """What a stage takes by itself: seconds a call of the fastest implementation of the same framework."""

    implementation: str
    time: Estimate


def alone_times(record: Record, others: Iterable[Record]) -> dict[str, AloneTime]:
    """By stage: the records of the same workload, mode, device and framework that measure it alone."""
    timed: dict[str, list[Record]] = {}
    for other in others:
        stage = other.workload.get(STAGE, record.workload.get(STAGE))
        if other.timing and stage != record.workload.get(STAGE) and _setting(other) == _setting(record):
            timed.setdefault(str(stage), []).append(other)
    return {stage: min((_time(each) for each in found), key=_seconds) for stage, found in timed.items()}


def _setting(record: Record) -> tuple[object, ...]:
    rest = {name: value for name, value in record.workload.items() if name != STAGE}
    return (record.family, record.mode, record.device, record.framework, record.fingerprint, rest)


def _time(record: Record) -> AloneTime:
    assert record.timing
    timing, rounds = record.timing, len(set(record.timing.round))
    return AloneTime(label_of(record), Estimate(timing.median_s, timing.low_s, timing.high_s, rounds, ROUNDS))


def _seconds(alone: AloneTime) -> float:
    return alone.time.value or 0.0
