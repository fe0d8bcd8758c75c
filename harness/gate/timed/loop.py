"""A gate's loop: pair after pair, until every case is decided or the budget is spent."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from harness.gate.timed.context import GateContext, Lost
from harness.gate.timed.pair import Pair
from harness.gate.timed.paired_case import PairedCase
from harness.gate.timed.sampling import Rounds
from harness.run.machine.interference import Interference


class Decider(Protocol):
    """Who decides: it is fed effects and says which cases need more."""

    def undecided(self) -> Collection[str]: ...

    def missing(self, case: str) -> int:
        """Pairs until the next look at a case."""
        ...

    def feed(self, case: str, effect: float) -> None: ...

    def advise(self, case: str) -> None:
        """Nothing hangs on a case's time."""
        ...

    def drop(self, case: str) -> None:
        """A case is decided without its time."""
        ...


class Watcher(Protocol):
    """Progress of a gate."""

    def pair_started(self, number: int, cases: Sequence[str], left_s: float | None) -> None: ...

    def pair_finished(self, number: int, rounds: Sequence[Rounds]) -> None: ...


class RoundsSink(Protocol):
    """Where the rounds of a pair go: one call is one write."""

    def append(self, number: int, rounds: Sequence[Rounds]) -> None: ...


@dataclass
class GateLoop:
    """`budget_s` of wall time; `effect` makes one number of a pair's rounds; pairs count from `first`.

    `demoting`: a case that is the same program on both sides is only advice.
    """

    shared: GateContext
    paired_cases: Sequence[PairedCase]
    sequential_test: Decider
    watcher: Watcher
    sink: RoundsSink
    budget_s: float
    effect: Effect
    first: int = 1
    demoting: bool = False
    disturbances: list[str] = field(default_factory=list[str], init=False)
    took_s: float = field(default=0.0, init=False)  # what the last pair took beside its rounds

    def run(self) -> None:
        """Play until all is decided, or nothing that is left can be afforded."""
        clock = self.shared.run.clock
        self.deadline = clock() + self.budget_s
        self.shared.budget_s = self.budget_s
        number = self.first
        interference = Interference(self.shared.device)
        try:
            while waiting := self._open_cases():
                once = self._not_per_pair(waiting)
                before, apart = clock(), self._seconds_spent(once)
                self.watcher.pair_started(
                    number, [paired.id for paired in waiting], self._seconds_left(waiting)
                )
                interference.look()
                rounds = self._run_pair(number, waiting)
                self.watcher.pair_finished(number, rounds)
                self.took_s = max(0.0, clock() - before - (self._seconds_spent(once) - apart))
                if not rounds and waiting == self._open_cases():
                    return  # nothing more fits the budget
                number += 1
        finally:
            self.shared.close_verifiers()
            self.disturbances += interference.warnings()

    def _open_cases(self) -> list[PairedCase]:
        """Those that are open and can still be decided: first those that have begun, then another set."""
        undecided = self.sequential_test.undecided()
        found = [paired for paired in self.paired_cases if paired.living and paired.id in undecided]
        begun = self._affordable([paired for paired in found if paired.verified])
        return begun or self._affordable([paired for paired in found if not paired.verified])

    def _still_affordable(self, paired_cases: Sequence[PairedCase]) -> list[PairedCase]:
        """Those of `duels` that the budget is for; what it has to do for the others is not theirs."""
        return [paired for paired in self._open_cases() if paired in paired_cases]

    def _run_pair(self, number: int, waiting: Sequence[PairedCase]) -> list[Rounds]:
        """One pair per set of cases that can be alive together."""
        collected: list[Rounds] = []
        queue = list(waiting)
        while queue:
            try:
                rounds, later = Pair(self.shared, number, self._still_affordable).play(queue)
            except Lost:
                self._tell_test()
                queue = [paired for paired in queue if paired.living]
                continue
            self._tell_test()
            self.sink.append(number, rounds)
            for found in rounds:
                self.sequential_test.feed(found.case, self.effect(found.log_ratios))
            collected += rounds
            if not rounds and len(later) == len(queue):
                break
            queue = self._still_affordable(later)
        self.shared.close_verifiers()
        return collected

    def _tell_test(self) -> None:
        """Tell the ledger what needs no time, or hangs on none."""
        for paired in self.paired_cases:
            if not paired.living:
                self.sequential_test.drop(paired.id)
            elif self.demoting and paired.same_program:
                self.sequential_test.advise(paired.id)

    def _affordable(self, paired_cases: Sequence[PairedCase]) -> list[PairedCase]:
        """Those that can reach their next look within the budget, the cheapest first; in their own order."""
        left = self.deadline - self.shared.run.clock()
        chosen: set[str] = set()
        spent, pairs = 0.0, 0
        for paired in sorted(
            paired_cases, key=lambda paired: paired.cost_s * self.sequential_test.missing(paired.id)
        ):
            missing = self.sequential_test.missing(paired.id)
            costs, longest = paired.cost_s * missing, max(pairs, missing)
            if spent + costs + longest * self.took_s > left:
                continue  # a dearer one may need fewer pairs
            spent, pairs = spent + costs, longest
            chosen.add(paired.id)
        return [paired for paired in paired_cases if paired.id in chosen]

    def _seconds_left(self, paired_cases: Sequence[PairedCase]) -> float | None:
        """Seconds until all are at their next look; None before anything is known of them."""
        if not self.took_s:
            return None
        pairs = max(self.sequential_test.missing(paired.id) for paired in paired_cases)
        rounds = sum(paired.cost_s * self.sequential_test.missing(paired.id) for paired in paired_cases)
        return min(self.deadline - self.shared.run.clock(), pairs * self.took_s + rounds)

    @staticmethod
    def _not_per_pair(paired_cases: Sequence[PairedCase]) -> tuple[str, ...]:
        """What is no pair's as such: judging, rounds, which each case takes by itself, and figures.

        Those come with the first compilation, one side after the other: it says little of the next.
        """
        known = all(state.compiled for paired in paired_cases for state in paired.sides.values())
        return ("contract", "turns") if known else ("contract", "turns", "compile")

    def _seconds_spent(self, activities: Collection[str]) -> float:
        return sum(self.shared.run.spent[activity] for activity in activities)


class Effect(Protocol):
    def __call__(self, log_ratios: Sequence[float], /) -> float: ...
