"""Records of a run: built from settled cases, and queried when a run is resumed."""

from typing import Any

from harness.catalog.accelerators import HOST
from harness.catalog.catalog import ImplementationInfo
from harness.core.case import Case
from harness.core.record import Memory, Record
from harness.run.case.case_state import NO_EXTRAS, NOT_REACHED, CaseState
from harness.run.case.compiled_plan import NOT_COMPILED
from harness.run.group.run_context import Provenance


def new_record(
    case: Case, info: ImplementationInfo, provenance: Provenance, status: str, **evidence: Any
) -> Record:
    """A record of a case: its static fields, and all other fields of a Record as `evidence`."""
    evidence.setdefault("remedy", None if status == "ok" else "")
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
    """The key of a measured case's figures in its record's `static`."""
    return HOST if case.device == "cpu" else case.device


def record_of(state: CaseState, provenance: Provenance, replicate: int) -> Record:
    """The record of a settled case; only one that is ok and verified has a timing."""
    ok = state.status == "ok"
    timed = ok and state.samples.readings and state.correctness is not None
    extras = state.extras if ok else NO_EXTRAS
    return new_record(
        state.case,
        state.info,
        provenance,
        state.status or "crashed",
        reason=state.reason,
        remedy=state.remedy,
        crash_file=state.crash_file,
        expected=state.plan.expected,
        baseline=state.baseline,
        replicate=replicate,
        correctness=state.correctness,
        checks=state.checks,
        facts=state.plan.facts,
        timing=state.samples.timing(state.setup) if timed else None,
        static={target_of(state.case): state.plan.static},
        cost=state.plan.cost,
        memory=Memory(state.call.high_water_bytes),
        profile=extras.profile,
        kernels_run=state.kernels.counts if ok else (),
        kernels_unknown=state.kernels.unknown if ok else "",
        started=state.started,
        wall_s=state.wall_s,
    )


def was_cut_short(record: Record) -> bool:
    """Whether a record is incomplete because of Ctrl-C."""
    return (record.status, record.reason) == ("skipped", NOT_REACHED) or (
        record.timing is not None and record.timing.stopped == "interrupted"
    )


def was_compiled(record: Record) -> bool:
    return not any(NOT_COMPILED in static.unavailable.values() for static in record.static.values())
