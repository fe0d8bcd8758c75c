"""The context of a gate's pairs: what all of them share, and how they query a side."""

import math
from dataclasses import dataclass, field

from harness.gate.outcome import INVALID
from harness.gate.sides.side import Side
from harness.gate.timed.paired_case import PairedCase
from harness.gate.timed.processes import GateExecutor, SideProcesses
from harness.run.case.case_state import CaseState
from harness.run.group.group_context import GroupContext
from harness.run.group.run_context import RunContext
from harness.run.group.verification import Verifier
from harness.sweep.settings import Settings


class Lost(Exception):  # noqa: N818 - the pair is played again without the case
    """A case's process has ended, so the readings of all other cases in this pair are discarded."""


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
    verifiers: dict[int, Verifier] = field(
        default_factory=dict[int, Verifier]
    )  # by the identity of their group's context

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
        """Settle the case and raise Lost where the process that was asked about it has ended."""
        if self.executor.processes[state.side or ""].dead:
            whose = "the candidate" if state is paired.candidate else "the base"
            paired.settle(INVALID, f"{whose} ended its process: {state.reason}")
            raise Lost(paired.id)
