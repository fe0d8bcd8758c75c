"""What all pairs of a gate share, and how they ask a side."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from harness.gate.outcome import INVALID
from harness.gate.sides.side import Side
from harness.gate.timed.paired_case import PairedCase
from harness.gate.timed.processes import GateExecutor, Opener
from harness.run.case_state import CaseState
from harness.run.group_context import GroupContext
from harness.run.run_context import RunContext
from harness.run.verification import Verifier
from harness.sweep.settings import Settings


class Lost(Exception):  # noqa: N818 - the pair is played again without the case
    """A case's process has ended: what the others have read in this pair is worth nothing."""

    def __init__(self, duel: PairedCase) -> None:
        super().__init__(duel.id)
        self.duel = duel


@dataclass
class GateContext:
    """What all pairs of a gate share. `seats` is the context's executor."""

    context: RunContext
    seats: GateExecutor
    opener: Opener
    sides: dict[str, Side]
    settings: Settings
    device: str = "cpu"
    budget_s: float = math.inf  # of the whole gate
    judges: dict[int, Verifier] = field(default_factory=dict[int, Verifier])  # by their sitting's identity

    def judge(self, sitting: GroupContext) -> Verifier:
        if id(sitting) not in self.judges:
            judge = self.judges[id(sitting)] = Verifier(sitting)
            judge.open()
        return self.judges[id(sitting)]

    def dismiss_judges(self) -> None:
        for judge in self.judges.values():
            judge.close()
        self.judges.clear()

    def ask(self, duel: PairedCase, half: CaseState, activity: str, verb: str, **arguments: Any) -> Any:
        """Ask one side; None when that decided the duel. Lost when the side's process is gone."""
        answer = duel.sitting.ask(half, activity, verb, **arguments)
        self.look(duel, half)
        return answer

    def look(self, duel: PairedCase, half: CaseState) -> None:
        """Raise Lost, with the duel decided, when the process that was asked about it has ended."""
        if self.seats.arms[half.side or ""].dead:
            whose = "the candidate" if half is duel.candidate else "the base"
            duel.settle(INVALID, f"{whose} ended its process: {half.reason}")
            raise Lost(duel)
