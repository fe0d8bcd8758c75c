"""One group: compile and verify every case, sample all cases in shuffled rounds, and make their records."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from harness.catalog.accelerators import HOST
from harness.catalog.catalog import ImplementationInfo
from harness.catalog.known_frameworks import traits_of
from harness.core.case import Case
from harness.core.errors import MachineError
from harness.core.grouped import grouped
from harness.core.record import PLANNED, Memory, Record
from harness.core.units import format_bytes
from harness.run.case.case_state import NOT_REACHED, CaseState
from harness.run.group.compilation import compile_again, compile_case, run_concurrently
from harness.run.group.group_context import SETS, GroupContext
from harness.run.group.profiling import name_kernels, profile_stages
from harness.run.group.run_context import Provenance
from harness.run.group.sampling import finish_case, sample
from harness.run.group.stopping import MAX_ROUNDS
from harness.run.group.verification import Verifier


def new_record(
    case: Case, info: ImplementationInfo, provenance: Provenance, status: str, **evidence: Any
) -> Record:
    """A record of a case: its constant fields, and all other fields of a Record from `evidence`."""
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
    """The record of a settled case; it has a timing only if the case is ok and verified."""
    ok = state.status == "ok"
    timed = ok and state.samples.timed and state.correctness is not None
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
        profile=state.profile if ok else None,
        kernels_run=state.kernels_run if ok else (),
        kernels_unknown=state.kernels_unknown if ok else "",
        started=state.started,
        wall_s=state.wall_s,
    )


def was_cut_short(record: Record) -> bool:
    """Whether a record is incomplete because of Ctrl-C."""
    return (record.status, record.reason) == ("skipped", NOT_REACHED) or (
        record.timing is not None and record.timing.stopped == "interrupted"
    )


INTERPRETED = (
    "verified in an interpreter, which cannot time kernels; "
    "for the compiled kernels' figures, run seqsweep static --target {}"
)


class Interrupted(Exception):  # noqa: N818 - a stop that carries records
    """The run stopped while a group was being measured; `records` has the samples so far.

    `cause` is the error that stopped it, None after Ctrl-C.
    """

    def __init__(self, records: list[Record], cause: MachineError | None) -> None:
        super().__init__("interrupted")
        self.records, self.cause = records, cause


class GroupRun:
    """Measures one group once. `run()` returns its records, in the order of the context's states."""

    def __init__(self, context: GroupContext) -> None:
        self.depth = context.run.depth
        self.context = context
        self.verifier = Verifier(context)

    def run(self) -> list[Record]:
        context = self.context
        try:
            self._prepare()
            if context.unsettled():
                self._measure()
            for state in context.unsettled():
                context.settle(state, "ok")
        except (KeyboardInterrupt, MachineError) as stop:
            cause = stop if isinstance(stop, MachineError) else None
            sampled = any(state.samples.timed for state in context.states)
            if (cause or self.depth == "check") and not sampled:  # there is nothing to store, or to resume
                raise
            for state in context.unsettled():
                state.cut_short()
            raise Interrupted(self._records(), cause) from None
        finally:
            self.verifier.close()
            context.close()
        return self._records()

    def _records(self) -> list[Record]:
        context = self.context
        provenance = replace(context.run.provenance, seed=context.settings.seed)
        return [record_of(state, provenance, context.replicate) for state in context.states]

    def _prepare(self) -> None:
        """Compile in order; in a gate both sides concurrently, each on its own cores.

        On an accelerator contexts are created concurrently, because each takes seconds, and inputs are drawn
        meanwhile. Frameworks that compile whole calls follow one after the other, because they may tune a
        program by the device's clock.
        """
        context, compile_ = self.context, partial(compile_case, self.context)
        in_order = [context.states]
        if context.group.cases[0].device != "cpu":
            traced = [s for s in context.states if not traits_of(s.info.framework).compiles_calls]
            in_order = [[state for state in context.states if state not in traced]]
            works: list[Iterable[object]] = [map(compile_, [state]) for state in traced]
            if not context.group.several_inputs:
                works.append(map(self.verifier.open, [context.states]))
            run_concurrently(works, self._interrupt)
        elif any(state.side for state in context.states):
            in_order = list(grouped(context.states, lambda state: state.side).values())
        if len(in_order) == 1:
            list(map(compile_, in_order[0]))
        else:
            run_concurrently([map(compile_, states) for states in in_order])

    def _interrupt(self) -> None:
        """Kill the group's processes; threads may be waiting for them."""
        for state in self.context.states:
            state.interrupt()
        self.verifier.kill()

    def _measure(self) -> None:
        """Measure all cases together if their memory fits, else the cases of one set of inputs at a time."""
        states, limit = self.context.unsettled(), self.context.memory_limit
        by_inputs = list(grouped(states, self.context.inputs_of).values())
        whole = sum(self.context.needs_bytes(state, SETS) for state in states)
        # A reference worker has all sets of inputs in f64, which doubles those in f32.
        whole += sum(2 * (SETS + 1) * max(state.plan.input_bytes for state in own) for own in by_inputs)
        if len(by_inputs) < 2 or (whole <= limit and not any(map(self._is_near_limit, states))):
            by_inputs = [states]
        for number, own in enumerate(by_inputs):
            for state in own:
                state.samples.first_round = number * 2 * MAX_ROUNDS  # rounds of two sets never coincide
                if state.unsettled and state.worker is None:  # ended to make room for other cases
                    compile_again(self.context, state)
            if number:
                self.verifier.close()  # frees the inputs of the set before
            self.verifier.open(own)
            if unsettled := [state for state in own if state.unsettled]:
                self._measure_group(unsettled)

    def _measure_group(self, states: Sequence[CaseState]) -> None:
        """Measure cases of equal inputs together if their plans fit together, else one after the other.

        A case near the limit comes last, once the other cases' processes have ended.
        """
        limit = self.context.memory_limit
        if len(states) == 1:
            self._verify_and_sample(states)
            return
        others = [state for state in states if not self._is_near_limit(state)]
        if self.depth == "check" or self.context.needs_together(others) <= limit:
            self._verify_and_sample(others)
        else:
            whole = format_bytes(self.context.needs_together(states))
            for state in others:
                self._measure_separately(state, f"the whole group plans {whole}")
        for state in states:
            if state.unsettled and self._is_near_limit(state):
                self._end_others(state)
                self._measure_separately(state, f"it plans {format_bytes(state.plan.needs_bytes(1))}")

    def _is_near_limit(self, state: CaseState) -> bool:
        sets = 1 if self.depth == "check" else self.context.sets_of(state)
        return state.plan.is_near_limit(self.context.memory_limit, sets)

    def _measure_separately(self, state: CaseState, why: str) -> None:
        limit = format_bytes(self.context.memory_limit)
        state.warn(f"measured separately: {why}, and the limit is {limit}")
        self._verify_and_sample([state])

    def _end_others(self, state: CaseState) -> None:
        """End the processes of all other cases; those not yet measured are compiled again in their turn."""
        for other in self.context.unsettled():
            if other is not state:
                other.end()
        if state.worker is None:
            compile_again(self.context, state)

    def _verify_and_sample(self, states: Sequence[CaseState]) -> None:
        for state in states:
            if state.is_interpreted and (why := self.context.why_not_interpreted(state)):
                self.context.settle(state, PLANNED, why)
                continue
            self.verifier.check(state)
            if self.depth == "check" and state.unsettled:
                self.context.settle(state, "ok")  # frees its memory
            elif state.is_interpreted and state.unsettled:
                targets = traits_of(state.info.framework).planned_for
                one_of_a_kind = {target.partition(":")[0]: target for target in targets}.values()
                self.context.settle(state, PLANNED, INTERPRETED.format(" or ".join(one_of_a_kind)))
        if self.depth == "check":
            return
        correct = [state for state in states if state.unsettled]
        sample(self.context, self.verifier, correct)
        if self.depth == "profile":
            profile_stages(self.context, [state for state in correct if state.unsettled])
        for state in correct:
            if state.unsettled:
                name_kernels(self.context, state)
                finish_case(self.context, state)
