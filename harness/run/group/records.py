"""Records of a run: built from the state of a settled case, and read again when a run is resumed."""

from __future__ import annotations

from typing import Any

from harness.catalog.accelerators import HOST
from harness.catalog.catalog import ImplementationInfo
from harness.core.case import Case
from harness.core.grouped import collected
from harness.core.median_interval import median_interval
from harness.core.record import Memory, Record, Timing
from harness.run.group.case_state import NOT_COMPILED, NOT_REACHED, CaseState
from harness.run.group.run_context import Provenance


def timing_of(state: CaseState) -> Timing | None:
    """The readings of a case that is ok, with the interval of its median over rounds."""
    if not state.readings or state.status != "ok" or state.correctness is None:
        return None
    levels = [median_interval(values)[0] for values in collected(state.readings).values()]
    _, low, high = median_interval(levels)
    return Timing(
        samples_s=tuple(state.samples),
        round=tuple(round_ for round_, _ in state.readings),
        median_s=median_interval(state.samples)[0],
        low_s=low,
        high_s=high,
        method=state.method,
        cache=state.cache,
        inner=state.inner,
        stopped=state.stopped,
        warnings=tuple(state.warnings),
        gpu=tuple(state.gpu_readings),
    )


def new_record(
    case: Case, info: ImplementationInfo, provenance: Provenance, status: str, **evidence: Any
) -> Record:
    """A record of a case: what is known of it beforehand, and the other fields of a Record as `evidence`."""
    return Record(
        run=provenance.run,
        case=case.id,
        family=case.family,
        implementation=case.implementation,
        semantics=info.semantics,
        bound=info.bounds.get(case.mode, ""),
        options=dict(case.options),
        framework=info.framework,
        device=case.device,
        mode=case.mode,
        seq=case.seq,
        workload=dict(case.workload),
        seed=provenance.seed,
        status=status,
        source=info.hash,
        fingerprint=provenance.fingerprint,
        environment=provenance.environment,
        **evidence,
    )


def target_of(case: Case) -> str:
    """The target whose figures a measured case has."""
    return HOST if case.device == "cpu" else case.device


def record_of(state: CaseState, provenance: Provenance, replicate: int) -> Record:
    """The record of a settled case."""
    return new_record(
        state.case,
        state.info,
        provenance,
        state.status or "crashed",
        reason=state.reason,
        crash_file=state.crash_file,
        expected=state.expected,
        baseline=state.baseline,
        replicate=replicate,
        correctness=state.correctness,
        checks=state.checks,
        facts=state.facts,
        timing=timing_of(state),
        static={target_of(state.case): state.static},
        cost=state.cost,
        memory=Memory(state.high_water_bytes),
        profile=state.profile if state.status == "ok" else None,
        cold=state.cold if state.status == "ok" else None,
        graphs=state.graphs if state.status == "ok" else None,
        started=state.started,
        wall_s=state.wall_s,
    )


def was_cut_short(record: Record) -> bool:
    """Whether a Ctrl-C is why a record says no more."""
    return record.reason == NOT_REACHED or (
        record.timing is not None and record.timing.stopped == "interrupted"
    )


def was_compiled(record: Record) -> bool:
    return not any(NOT_COMPILED in static.unavailable.values() for static in record.static.values())
