"""Loop of a timed gate: runs pairs until every case is decided or the budget is spent."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from harness.gate.timed.decision import GROSS, PairResult
from harness.gate.timed.pair import Pair
from harness.gate.timed.paired_case import GateContext, PairedCase, ProcessEnded
from harness.gate.timed.sequential_test import SequentialTest
from harness.report.format import duration
from harness.run.machine.interference import Interference

GROSS_PAIRS = 2  # a first pair beyond GROSS, and a fresh one that confirms it


@dataclass
class GateLoop:
    """Loop over pairs. `budget_s` is wall time, and `results` are those of all pairs so far.

    `demotes_same_program`: a case with equal programs is advisory.
    """

    shared: GateContext
    paired_cases: Sequence[PairedCase]
    sequential_test: SequentialTest
    budget_s: float
    demotes_same_program: bool = False
    results: list[PairResult] = field(default_factory=list[PairResult], init=False)
    disturbances: list[str] = field(default_factory=list[str], init=False)
    overhead_s: float = field(default=0.0, init=False)  # start, compilation and inputs of the last pair

    def run(self) -> None:
        """Run pairs until every case is decided, or no other case fits the budget."""
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
                self.shared.run.listener.message(
                    f"pair {number}: undecided {len(waiting)}, at most {left} left"
                )
                interference.look()
                results = self._run_pair(number, waiting)
                self.shared.run.listener.group_finished([], None)
                self.overhead_s = max(0.0, self._seconds_per_pair(compiled=compiled) - began_s)
                if not results and waiting == self._open_cases():
                    return  # no case fits the rest of the budget
                number += 1
        finally:
            self.shared.close_verifiers()
            self.disturbances += interference.warnings()

    def _open_cases(self) -> list[PairedCase]:
        """Undecided cases that fit the budget: those already begun or, if none of them fits, new ones."""
        undecided = self.sequential_test.undecided()
        open_cases = [paired for paired in self.paired_cases if paired.unsettled and paired.id in undecided]
        begun = self._affordable_cases([paired for paired in open_cases if paired.verified])
        return begun or self._affordable_cases([paired for paired in open_cases if not paired.verified])

    def _still_affordable(self, paired_cases: Sequence[PairedCase]) -> list[PairedCase]:
        """Those of the cases that can still be decided within the budget."""
        return [paired for paired in self._open_cases() if paired in paired_cases]

    def _run_pair(self, number: int, waiting: Sequence[PairedCase]) -> list[PairResult]:
        """Run one pair per set of cases that fit in memory together."""
        collected: list[PairResult] = []
        queue = list(waiting)
        while queue:
            try:
                results, later = Pair(self.shared, number, self._still_affordable).run(queue)
            except ProcessEnded:
                self._update_test()
                queue = [paired for paired in queue if paired.unsettled]
                continue
            self._update_test()
            self.results += results
            for result in results:
                self.sequential_test.feed(result.case, result.effect)
            collected += results
            if not results and len(later) == len(queue):
                break
            queue = self._still_affordable(later)
        self.shared.close_verifiers()
        return collected

    def _update_test(self) -> None:
        """Remove cases that were decided without timing from the test, and mark the advisory ones."""
        for paired in self.paired_cases:
            if not paired.unsettled:
                self.sequential_test.drop(paired.id)
            elif self.demotes_same_program and paired.same_program:
                self.sequential_test.advise(paired.id)

    def _affordable_cases(self, paired_cases: Sequence[PairedCase]) -> list[PairedCase]:
        """Cases that reach their next analysis within the budget; cheap cases are chosen first."""
        left = self.deadline - self.shared.run.clock()
        chosen: set[str] = set()
        spent, pairs = 0.0, 0
        for paired in sorted(paired_cases, key=lambda paired: paired.cost_s * self._missing_pairs(paired)):
            missing = self._missing_pairs(paired)
            # `overhead_s` is spent once per pair, for all cases in it.
            costs, longest = paired.cost_s * missing, max(pairs, missing)
            if spent + costs + longest * self.overhead_s > left:
                continue  # a later case, which costs more in total, may need fewer pairs
            spent, pairs = spent + costs, longest
            chosen.add(paired.id)
        return [paired for paired in paired_cases if paired.id in chosen]

    def _missing_pairs(self, paired: PairedCase) -> int:
        """Pairs until a case may be decided: two if its verified call was more than twice as slow."""
        is_slow = paired.candidate.call.seconds > math.exp(GROSS) * paired.base.call.seconds
        missing = self.sequential_test.missing(paired.id)
        return min(missing, GROSS_PAIRS) if is_slow else missing

    def _seconds_per_pair(self, *, compiled: bool) -> float:
        """Seconds until now, without those spent on verifying and sampling cases.

        Compilation counts only if all cases are `compiled`, because a first compilation (with static figures,
        one side after the other) is slower than later ones.
        """
        per_case = ("contract", "warmup", "turns", *(() if compiled else ("compile",)))
        return self.shared.run.clock() - sum(self.shared.run.spent[activity] for activity in per_case)
