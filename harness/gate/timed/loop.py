"""The loop of a timed gate: pair after pair, until every case is decided or the budget is spent."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from harness.gate.timed.decision import GROSS, Rounds
from harness.gate.timed.pair import Pair
from harness.gate.timed.paired_case import GateContext, Lost, PairedCase
from harness.gate.timed.sequential_test import SequentialTest
from harness.report.format import duration
from harness.run.machine.interference import Interference

GROSS_PAIRS = 2  # a first pair beyond GROSS, and a fresh one that confirms it


@dataclass
class GateLoop:
    """The loop over pairs. `budget_s` is wall time, and `rounds` are those of all pairs so far.

    `demotes_same_program`: a case with equal programs is advisory.
    """

    shared: GateContext
    paired_cases: Sequence[PairedCase]
    sequential_test: SequentialTest
    budget_s: float
    demotes_same_program: bool = False
    rounds: list[Rounds] = field(default_factory=list[Rounds], init=False)
    disturbances: list[str] = field(default_factory=list[str], init=False)
    took_s: float = field(default=0.0, init=False)  # the last pair without its rounds: start, compile, inputs

    def run(self) -> None:
        """Run pairs until every case is decided, or none of the rest fits the budget."""
        clock = self.shared.run.clock
        self.deadline = clock() + self.budget_s
        self.shared.budget_s = self.budget_s
        number = 1
        interference = Interference(self.shared.device)
        try:
            while waiting := self._open_cases():
                compiled = all(paired.compiled for paired in waiting)
                began_s = self._seconds_per_pair(compiled=compiled)
                left = duration(max(0.0, self.deadline - clock()))
                self.shared.run.listener.message(f"pair {number}: {len(waiting)} open, {left} left at most")
                interference.look()
                rounds = self._run_pair(number, waiting)
                self.shared.run.listener.group_finished([], None)
                self.took_s = max(0.0, self._seconds_per_pair(compiled=compiled) - began_s)
                if not rounds and waiting == self._open_cases():
                    return  # nothing more fits the budget
                number += 1
        finally:
            self.shared.close_verifiers()
            self.disturbances += interference.warnings()

    def _open_cases(self) -> list[PairedCase]:
        """The open cases that fit the budget: those already begun or, if none of them fits, new ones."""
        undecided = self.sequential_test.undecided()
        open_cases = [paired for paired in self.paired_cases if paired.unsettled and paired.id in undecided]
        begun = self._affordable_cases([paired for paired in open_cases if paired.verified])
        return begun or self._affordable_cases([paired for paired in open_cases if not paired.verified])

    def _still_affordable(self, paired_cases: Sequence[PairedCase]) -> list[PairedCase]:
        """The cases that can still reach a decision within the budget."""
        return [paired for paired in self._open_cases() if paired in paired_cases]

    def _run_pair(self, number: int, waiting: Sequence[PairedCase]) -> list[Rounds]:
        """Run one pair per set of cases whose memory fits together."""
        collected: list[Rounds] = []
        queue = list(waiting)
        while queue:
            try:
                rounds, later = Pair(self.shared, number, self._still_affordable).run(queue)
            except Lost:
                self._update_test()
                queue = [paired for paired in queue if paired.unsettled]
                continue
            self._update_test()
            self.rounds += rounds
            for case_rounds in rounds:
                self.sequential_test.feed(case_rounds.case, case_rounds.effect)
            collected += rounds
            if not rounds and len(later) == len(queue):
                break
            queue = self._still_affordable(later)
        self.shared.close_verifiers()
        return collected

    def _update_test(self) -> None:
        """Remove the cases that were decided without a time from the test, and mark the advisory ones."""
        for paired in self.paired_cases:
            if not paired.unsettled:
                self.sequential_test.drop(paired.id)
            elif self.demotes_same_program and paired.same_program:
                self.sequential_test.advise(paired.id)

    def _affordable_cases(self, paired_cases: Sequence[PairedCase]) -> list[PairedCase]:
        """Those, cheapest first, that reach their next analysis within the budget; returned in order."""
        left = self.deadline - self.shared.run.clock()
        chosen: set[str] = set()
        spent, pairs = 0.0, 0
        for paired in sorted(paired_cases, key=lambda paired: paired.cost_s * self._missing_pairs(paired)):
            missing = self._missing_pairs(paired)
            # `took_s` is paid once per pair, for all cases in it.
            costs, longest = paired.cost_s * missing, max(pairs, missing)
            if spent + costs + longest * self.took_s > left:
                continue  # a later case, which costs more in all, may need fewer pairs
            spent, pairs = spent + costs, longest
            chosen.add(paired.id)
        return [paired for paired in paired_cases if paired.id in chosen]

    def _missing_pairs(self, paired: PairedCase) -> int:
        """Pairs until a case may be decided: two where its verified call was slower by more than twofold."""
        is_slow = paired.candidate.call.seconds > math.exp(GROSS) * paired.base.call.seconds
        missing = self.sequential_test.missing(paired.id)
        return min(missing, GROSS_PAIRS) if is_slow else missing

    def _seconds_per_pair(self, *, compiled: bool) -> float:
        """Seconds until now without what is spent per case: verifying and sampling it.

        A first compilation (with static figures, one side after the other) is slower than later ones, so
        that it counts where all cases are `compiled`.
        """
        per_case = ("contract", "warmup", "turns", *(() if compiled else ("compile",)))
        return self.shared.run.clock() - sum(self.shared.run.spent[activity] for activity in per_case)
