"""What a decided case becomes: its record, and what a record tells a run that goes on."""

from __future__ import annotations

from dataclasses import dataclass

from harness.core.median_interval import median_interval
from harness.core.record import Memory, Record, Timing
from harness.run.case_state import NOT_COMPILED, NOT_REACHED, CaseState


@dataclass(frozen=True)
class Provenance:
    """What all records of a run share."""

    run: str
    fingerprint: str
    environment: str
    seed: int


def timing_of(member: CaseState) -> Timing | None:
    """The readings of a case that is ok, with the interval of its median over rounds."""
    if not member.readings or member.status != "ok" or member.correctness is None:
        return None
    by_round: dict[int, list[float]] = {}
    for round_, sample in member.readings:
        by_round.setdefault(round_, []).append(sample)
    levels = [median_interval(values)[0] for values in by_round.values()]
    _, low, high = median_interval(levels)
    return Timing(
        samples_s=tuple(member.samples),
        round=tuple(round_ for round_, _ in member.readings),
        median_s=median_interval(member.samples)[0],
        low_s=low,
        high_s=high,
        method=member.method,
        cache=member.cache,
        inner=member.inner,
        stopped=member.stopped,
        warnings=tuple(member.warnings),
    )


def record_of(member: CaseState, stamp: Provenance, target: str, replicate: int) -> Record:
    return Record(
        run=stamp.run,
        case=member.id,
        family=member.case.family,
        implementation=member.case.implementation,
        semantics=member.info.semantics,
        options=dict(member.case.options),
        framework=member.info.framework,
        device=member.case.device,
        mode=member.case.mode,
        seq=member.case.seq,
        workload=dict(member.case.workload),
        seed=stamp.seed,
        status=member.status or "crashed",
        reason=member.reason,
        expected=member.expected,
        baseline=member.baseline,
        replicate=replicate,
        correctness=member.correctness,
        checks=member.checks,
        facts=member.facts,
        timing=timing_of(member),
        static={target: member.static},
        cost=member.cost,
        memory=Memory(member.high_water_bytes),
        source=member.info.hash,
        fingerprint=stamp.fingerprint,
        environment=stamp.environment,
        started=member.started,
        wall_s=member.wall_s,
    )


def was_cut_short(record: Record) -> bool:
    """Whether a Ctrl-C is why a record says no more."""
    return record.reason == NOT_REACHED or (
        record.timing is not None and record.timing.stopped == "interrupted"
    )


def was_compiled(record: Record) -> bool:
    return not any(NOT_COMPILED in static.unavailable.values() for static in record.static.values())
