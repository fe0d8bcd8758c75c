"""State of a timed gate: a case on both sides, and the context that all pairs share."""

import math
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from harness.catalog.catalog import ImplementationInfo
from harness.catalog.known_frameworks import traits_of
from harness.core.case import Case
from harness.core.grouped import grouped
from harness.gate.outcome import INCORRECT, INVALID, NEW, NOT_ENOUGH, REGRESSED, VANISHED
from harness.gate.sides.side import Side
from harness.gate.timed.processes import GateExecutor
from harness.run.case.case_state import CaseState
from harness.run.events import Listener
from harness.run.group.group_context import GroupContext
from harness.run.group.run_context import Provenance, RunContext
from harness.run.group.verification import Verifier
from harness.run.machine.device_memory import DeviceMemory
from harness.run.machine.probes import probe_fingerprint
from harness.run.processes.worker_process import Processes
from harness.sweep.schedule import Group
from harness.sweep.settings import Settings

CANDIDATE, BASE = "candidate", "base"
BOTH = (CANDIDATE, BASE)
LEFT_OUT = "left_out"  # runs on neither side, or is expected to fail: not compared

SAMPLES = 4  # a side's value in a round is their minimum, because disturbances only lengthen calls
SAMPLE_SECONDS = 5e-4  # a sample takes at least this long; shorter calls are repeated within it
NO_TIME = "the {} measured a time that is not positive; do not change the clock"
ROUNDS = ((0.02, 20), (0.2, 10), (math.inf, 5))  # (longest sample in seconds, rounds of a pair)


@dataclass
class PairedCase:
    """A case on both sides. `verdict` is None while the case may be timed; else `reason` explains it.

    A sample is `inner` calls, the same number on both sides. `verified` and `verified_again`: its contract
    was checked before and after sampling.
    """

    sides: Mapping[str, CaseState]
    context: GroupContext
    inner: int = 1
    verified: bool = False
    verified_again: bool = False
    verdict: str | None = None
    reason: str = ""

    @property
    def id(self) -> str:
        return self.candidate.id

    @property
    def candidate(self) -> CaseState:
        return self.sides[CANDIDATE]

    @property
    def base(self) -> CaseState:
        return self.sides[BASE]

    @property
    def unsettled(self) -> bool:
        return self.verdict is None

    @property
    def compiled(self) -> bool:
        return all(state.compiled for state in self.sides.values())

    @property
    def same_program(self) -> bool:
        """Whether both sides run only one program, and it is equal.

        An equal trace of eager calls is not enough: the Python code between them also takes time.
        """
        candidate, base = self.candidate, self.base
        return (
            all(traits_of(side.info.framework).compiles_calls for side in (candidate, base))
            and candidate.plan.static.program is not None
            and candidate.plan.static.program == base.plan.static.program
        )

    @property
    def sample_s(self) -> float:
        return max(state.call.seconds for state in self.sides.values()) * self.inner

    @property
    def rounds(self) -> int:
        """Rounds of one pair of processes."""
        return next(rounds for most, rounds in ROUNDS if self.sample_s <= most)

    @property
    def cost_s(self) -> float:
        """Estimated seconds of the case's rounds in one pair, plus one round for the warm-up."""
        calls = sum(state.call.seconds for state in self.sides.values()) * self.inner
        return calls * SAMPLES * (self.rounds + 1)

    def set_inner(self) -> None:
        """Set the calls per sample from the verified calls' times, which must be positive."""
        for side, state in self.sides.items():
            if not 0 < state.call.seconds < math.inf:
                self.settle(INVALID, NO_TIME.format(side))
                return
        fastest = min(state.call.seconds for state in self.sides.values())
        self.inner = max(1, math.ceil(SAMPLE_SECONDS / max(fastest, 1e-7)))

    def settle(self, verdict: str, reason: str) -> None:
        """Decide the case without timing, if it is undecided, and release it on both sides."""
        if self.verdict is None:
            self.verdict, self.reason = verdict, reason
        for state in self.sides.values():
            state.end()

    def resolve(self) -> None:
        """Decide the case if a side cannot be timed. A failing base does not count against the candidate."""
        candidate, base = self.candidate, self.base
        if candidate.status == "ok":  # an expected failure that passed
            self.settle(INCORRECT, candidate.reason or "")
        elif candidate.status is not None:
            self.settle(*_verdict_on_failure(candidate, base))
        elif base.status is not None:
            why = base.reason or "marked `expect=…` but passes its contract"
            self.settle(NEW, f"cannot be compared, because the base is {base.status} ({why})")


def _verdict_on_failure(candidate: CaseState, base: CaseState) -> tuple[str, str]:
    """(verdict, reason) for a case whose candidate cannot be timed."""
    reason = candidate.reason or ""
    if candidate.status == "incorrect" and not candidate.plan.expected:
        return INCORRECT, reason
    if candidate.status == "skipped":
        return NOT_ENOUGH, reason
    if candidate.status == base.status and not candidate.plan.expected:
        return LEFT_OUT, f"on both sides {candidate.status}: {reason}"
    if candidate.status not in {"incorrect", "unsupported", "oom"}:
        return INVALID, f"the candidate is {candidate.status}: {reason}"
    # With `impl:NAME`, a case that the candidate cannot run is not a regression.
    another = candidate.case.implementation != base.case.implementation
    if another or base.status is not None:
        return LEFT_OUT, reason
    if candidate.status == "oom":
        return REGRESSED, f"the base fits in memory, the candidate does not: {reason}"
    base_state = "runs, the candidate is unsupported" if candidate.status == "unsupported" else "is correct"
    return VANISHED, f"the base {base_state}: {reason}"


PROVENANCE = Provenance(run="gate", fingerprint="", environment="", seed=0)  # a gate stores no records
Counterparts = Mapping[Case, Case | None]  # candidate's case -> base's case, or None


class ProcessEnded(Exception):  # noqa: N818 - the pair is run again without the case
    """A case ended its side's process, so the samples of all cases in this pair are discarded."""


@dataclass
class GateContext:
    """Context that all pairs of a gate share. `executor` is also the one in `run`."""

    run: RunContext
    executor: GateExecutor
    sides: dict[str, Side]
    settings: Settings
    device: str = "cpu"
    budget_s: float = math.inf  # of the whole gate
    verifiers: dict[int, Verifier] = field(default_factory=dict[int, Verifier])  # by id() of a GroupContext

    def verifier(self, context: GroupContext) -> Verifier:
        if id(context) not in self.verifiers:
            verifier = self.verifiers[id(context)] = Verifier(context)
            verifier.open(context.unsettled())
        return self.verifiers[id(context)]

    def close_verifiers(self) -> None:
        for verifier in self.verifiers.values():
            verifier.close()
        self.verifiers.clear()

    def check_process(self, paired: PairedCase, state: CaseState) -> None:
        """If the process that last ran the case has ended, decide the case and raise ProcessEnded."""
        if self.executor.processes[state.side or ""].dead:
            side = "candidate" if state is paired.candidate else "base"
            paired.settle(INVALID, f"the {side} ended its process: {state.reason}")
            raise ProcessEnded(paired.id)


@contextmanager
def set_up(
    groups: Sequence[Group], counterparts: Counterparts, sides: Mapping[str, Side], listener: Listener
) -> Generator[tuple[GateContext, list[PairedCase]]]:
    """Context and paired cases of a gate, shortest lengths first; they are closed at the end."""
    catalog = sides[CANDIDATE].catalog
    frameworks = catalog.reference_frameworks(case.implementation for case in counterparts)
    references = Processes(sorted(frameworks), "cpu")
    device = next((case.device for case in counterparts if case.device != "cpu"), "cpu")
    executor = GateExecutor(references, device)
    run = RunContext(executor, catalog, PROVENANCE, listener, references.folder)
    if device != "cpu":
        run.device_memory = {device: DeviceMemory.of(device, probe_fingerprint(device, 1)["fingerprint"])}
    paired_cases: list[PairedCase] = []
    try:
        for group in groups:
            context, both_sides = open_group(group, counterparts, sides, run)
            paired_cases += [PairedCase(pair, context) for pair in both_sides]
        ranks = _ranks([paired.candidate.case for paired in paired_cases])
        paired_cases.sort(key=lambda paired: ranks[paired.id])
        settings = paired_cases[0].context.settings
        yield GateContext(run, executor, dict(sides), settings, device), paired_cases
    finally:
        for paired in paired_cases:
            paired.context.close()
        references.close()


def _ranks(cases: Sequence[Case]) -> dict[str, int]:
    """Each case's rank among the lengths of its series; with a small budget the longest are not run."""
    series = grouped(sorted(cases, key=lambda case: case.seq), lambda case: case.series)
    return {case.id: rank for lengths in series.values() for rank, case in enumerate(lengths)}


def open_group(
    group: Group, counterparts: Counterparts, sides: Mapping[str, Side], run: RunContext
) -> tuple[GroupContext, list[dict[str, CaseState]]]:
    """A group's context, and the states of each case in `counterparts` by side; without a base only one."""
    pairs: list[dict[str, CaseState]] = []
    for case in group.cases:
        if case in counterparts:
            theirs = counterparts[case]
            pair = {CANDIDATE: _state(case, sides[CANDIDATE])}
            pairs.append(pair if theirs is None else {**pair, BASE: _state(theirs, sides[BASE])})
    # The first state's family generates the inputs.
    states = [pair[side] for side in BOTH for pair in pairs if side in pair]
    return GroupContext(group, run, 0, states), pairs


def _state(case: Case, side: Side) -> CaseState:
    info: ImplementationInfo = side.catalog.implementation(case.implementation)
    return CaseState(case, info, side=side.name, within=side.within(info))
