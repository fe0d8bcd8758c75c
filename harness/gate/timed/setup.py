"""Setting up a timed gate: cases paired with their counterparts, and the processes behind them."""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager

from harness.catalog.catalog import ImplementationInfo
from harness.core.case import Case
from harness.core.grouped import grouped
from harness.gate.sides.side import Side
from harness.gate.timed.context import GateContext
from harness.gate.timed.paired_case import BASE, BOTH, CANDIDATE, PairedCase
from harness.gate.timed.processes import GateExecutor, SideProcesses
from harness.run.case.case_state import CaseState
from harness.run.events import Listener
from harness.run.group.group_context import GroupContext
from harness.run.group.run_context import Provenance, RunContext
from harness.run.processes.worker_process import Processes
from harness.sweep.schedule import Group

PROVENANCE = Provenance(run="gate", fingerprint="", environment="", seed=0)  # a gate keeps pairs, not records

Opponents = Mapping[Case, Case | None]  # the candidate's case -> the base's; None: the base has none


@contextmanager
def set_up(
    groups: Sequence[Group], opponents: Opponents, sides: Mapping[str, Side], listener: Listener
) -> Generator[tuple[GateContext, list[PairedCase]]]:
    """Everything that the loop needs; all of it ends with the block."""
    catalog = sides[CANDIDATE].catalog
    frameworks = catalog.reference_frameworks(case.implementation for case in opponents)
    references = Processes(sorted(frameworks), "cpu")
    device = next((case.device for case in opponents if case.device != "cpu"), "cpu")
    executor = GateExecutor(references)
    run = RunContext(executor, catalog, PROVENANCE, listener, references.folder)
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
    """A case's place among the lengths of its series, so that a budget too small leaves out the longest."""
    series = grouped(sorted(cases, key=lambda case: case.seq), lambda case: case.series)
    return {case.id: rank for lengths in series.values() for rank, case in enumerate(lengths)}


def open_group(
    group: Group, opponents: Opponents, sides: Mapping[str, Side], run: RunContext
) -> tuple[GroupContext, list[dict[str, CaseState]]]:
    """A group's context, and for each case with a counterpart its state on each side."""
    pairs: list[dict[str, CaseState]] = []
    for case in group.cases:
        if case in opponents:
            theirs = opponents[case]
            pair = {CANDIDATE: _state(case, sides[CANDIDATE])}
            pairs.append(pair if theirs is None else {**pair, BASE: _state(theirs, sides[BASE])})
    states = [pair[side] for side in BOTH for pair in pairs if side in pair]  # the candidate draws inputs
    return GroupContext(group, run, 0, states), pairs


def _state(case: Case, side: Side) -> CaseState:
    info: ImplementationInfo = side.catalog.implementation(case.implementation)
    return CaseState(case, info, side=side.name, within=side.within(info))
