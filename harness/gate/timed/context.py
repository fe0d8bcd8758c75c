"""The context of a timed gate: what all of its pairs share, and how that is set up."""

import math
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from harness.catalog.catalog import ImplementationInfo
from harness.core.case import Case
from harness.core.grouped import grouped
from harness.gate.outcome import INVALID
from harness.gate.sides.side import Side
from harness.gate.timed.paired_case import BASE, BOTH, CANDIDATE, PairedCase
from harness.gate.timed.processes import GateExecutor, SideProcesses
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

PROVENANCE = Provenance(run="gate", fingerprint="", environment="", seed=0)  # a gate keeps pairs, not records
Opponents = Mapping[Case, Case | None]  # the candidate's case -> the base's; None: the base has none


class Lost(Exception):  # noqa: N818 - the pair is run again without the case
    """A case ended its side's process, so the readings of all other cases in this pair are discarded."""


@dataclass
class GateContext:
    """The state that all pairs of a gate share. `executor` is also the one in `run`."""

    run: RunContext
    executor: GateExecutor
    opener: SideProcesses
    sides: dict[str, Side]
    settings: Settings
    device: str = "cpu"
    budget_s: float = math.inf  # of the whole gate
    verifiers: dict[int, Verifier] = field(default_factory=dict[int, Verifier])  # by id() of a GroupContext

    def verifier(self, context: GroupContext) -> Verifier:
        if id(context) not in self.verifiers:
            verifier = self.verifiers[id(context)] = Verifier(context)
            verifier.open(context.living())
        return self.verifiers[id(context)]

    def close_verifiers(self) -> None:
        for verifier in self.verifiers.values():
            verifier.close()
        self.verifiers.clear()

    def check_process(self, paired: PairedCase, state: CaseState) -> None:
        """Settle the case and raise Lost if the process that last answered for it has ended."""
        if self.executor.processes[state.side or ""].dead:
            whose = "the candidate" if state is paired.candidate else "the base"
            paired.settle(INVALID, f"{whose} ended its process: {state.reason}")
            raise Lost(paired.id)


@contextmanager
def set_up(
    groups: Sequence[Group], opponents: Opponents, sides: Mapping[str, Side], listener: Listener
) -> Generator[tuple[GateContext, list[PairedCase]]]:
    """The context and the paired cases of a gate, shortest lengths first; both end with the block."""
    catalog = sides[CANDIDATE].catalog
    frameworks = catalog.reference_frameworks(case.implementation for case in opponents)
    references = Processes(sorted(frameworks), "cpu")
    device = next((case.device for case in opponents if case.device != "cpu"), "cpu")
    executor = GateExecutor(references)
    run = RunContext(executor, catalog, PROVENANCE, listener, references.folder)
    if device != "cpu":
        run.device_memory = {device: DeviceMemory.of(device, probe_fingerprint(device, 1)["fingerprint"])}
    paired_cases: list[PairedCase] = []
    try:
        for group in groups:
            context, both_sides = open_group(group, opponents, sides, run)
            paired_cases += [PairedCase(pair, context) for pair in both_sides]
        ranks = _ranks([paired.candidate.case for paired in paired_cases])
        paired_cases.sort(key=lambda paired: ranks[paired.id])
        settings = paired_cases[0].context.settings
        opener = SideProcesses(references.folder, device, references.monitor)
        yield GateContext(run, executor, opener, dict(sides), settings, device), paired_cases
    finally:
        for paired in paired_cases:
            paired.context.close()
        references.close()


def _ranks(cases: Sequence[Case]) -> dict[str, int]:
    """Each case's rank among the lengths of its series: too small a budget then omits the longest ones."""
    series = grouped(sorted(cases, key=lambda case: case.seq), lambda case: case.series)
    return {case.id: rank for lengths in series.values() for rank, case in enumerate(lengths)}


def open_group(
    group: Group, opponents: Opponents, sides: Mapping[str, Side], run: RunContext
) -> tuple[GroupContext, list[dict[str, CaseState]]]:
    """A group's context, and each case of `opponents` as states by side: both, or the candidate's alone."""
    pairs: list[dict[str, CaseState]] = []
    for case in group.cases:
        if case in opponents:
            theirs = opponents[case]
            pair = {CANDIDATE: _state(case, sides[CANDIDATE])}
            pairs.append(pair if theirs is None else {**pair, BASE: _state(theirs, sides[BASE])})
    states = [
        pair[side] for side in BOTH for pair in pairs if side in pair
    ]  # the first one's family draws inputs
    return GroupContext(group, run, 0, states), pairs


def _state(case: Case, side: Side) -> CaseState:
    info: ImplementationInfo = side.catalog.implementation(case.implementation)
    return CaseState(case, info, side=side.name, within=side.within(info))
