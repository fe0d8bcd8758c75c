"""Group-sequential test over all cases of a gate: interim analyses, confirmation, Holm's procedure.

A case is analysed after each number of pairs in its margin's `looks`. *Regressed* takes two steps. The first
only makes the case suspected. Then fresh pairs must confirm it, and it must pass Holm's procedure over all
cases of the gate that are not advisory.

A slowdown of more than twofold needs only two pairs: a first pair and a fresh pair beyond it. If the fresh
pair is not, the case continues with both as first pairs. This biases no verdict: the early look could only
have ended in regressed, and the first pair can only count against unchanged.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from harness.gate.outcome import NOT_ENOUGH, REGRESSED
from harness.gate.timed.decision import GROSS, Decision, Margin, confirm, gross, holm, judge, p_value

HOLM_LEVEL = 0.05


@dataclass
class TestState:
    """Effects of a case's first pairs and, if it is suspected, of the fresh pairs that confirm it."""

    margin: Margin
    first: list[float] = field(default_factory=list[float])
    fresh: list[float] | None = None
    suspicion: Decision | None = None
    verdict: Decision | None = None
    unconfirmed: str = ""  # why a suspicion was not confirmed

    @property
    def effects(self) -> list[float]:
        """Effects for the next interim analysis."""
        return self.first if self.fresh is None else self.fresh

    @property
    def grossly_suspected(self) -> bool:
        """Whether the case is suspected because of its first pair only."""
        return self.verdict is None and self.suspicion is not None and self.suspicion.pairs == 1

    @property
    def latest(self) -> Decision:
        """The verdict or, if undecided, the effect so far with not enough evidence."""
        return self.verdict or replace(judge(self.effects, self.margin), verdict=NOT_ENOUGH)


class SequentialTest:
    """State of the test by case. `advisory` cases (same program on both sides) have only one analysis."""

    def __init__(self, margins: Mapping[str, Margin], advisory: Collection[str] = ()) -> None:
        self.cases = {case: TestState(margin) for case, margin in margins.items()}
        self.advisory = set(advisory)

    def undecided(self) -> set[str]:
        return {case for case, state in self.cases.items() if state.verdict is None}

    def missing(self, case: str) -> int:
        """Pairs until the next interim analysis of a case."""
        state = self.cases[case]
        count = len(state.effects)
        if state.grossly_suspected:
            return 1
        return next((look - count for look in state.margin.looks if look > count), 1)

    def advise(self, case: str) -> None:
        """Mark a case advisory. If it has had one interim analysis, that result is final."""
        self.advisory.add(case)
        state = self.cases.get(case)
        if state is not None and len(state.first) >= min(state.margin.looks):
            state.verdict = state.verdict or state.suspicion or judge(state.first, state.margin)

    def drop(self, case: str) -> None:
        """Remove a case that was decided without timing."""
        self.cases.pop(case, None)

    def feed(self, case: str, effect: float) -> None:
        """Add one pair of a case. ValueError for an effect that is not finite."""
        if not math.isfinite(effect):
            raise ValueError(f"{case}: a pair's effect is not finite; measure the pair again")
        state = self.cases.get(case)
        if state is None or state.verdict is not None:
            return
        state.effects.append(effect)
        if state.grossly_suspected:
            self._confirm_gross(state)
        elif len(state.effects) == 1 and effect > GROSS and state.fresh is None and case not in self.advisory:
            state.suspicion, state.fresh = gross(state.first), []
        elif len(state.effects) in state.margin.looks:
            self._analyse(case, state)

    @staticmethod
    def _confirm_gross(state: TestState) -> None:
        fresh = state.fresh or []
        if min(fresh) > GROSS:
            state.verdict = gross([*state.first, *fresh])
        else:
            state.first, state.fresh, state.suspicion = [*state.first, *fresh], None, None

    def _analyse(self, case: str, state: TestState) -> None:
        decision = judge(state.effects, state.margin)
        last = decision.pairs >= max(state.margin.looks)
        if state.fresh is not None and state.suspicion is not None:
            self._confirm(case, state, decision, last=last)
        elif decision.verdict == REGRESSED and case not in self.advisory:
            state.suspicion, state.fresh = decision, []
        elif decision.verdict != NOT_ENOUGH or last or case in self.advisory:
            state.verdict = decision

    def _confirm(self, case: str, state: TestState, decision: Decision, *, last: bool) -> None:
        suspicion = state.suspicion
        if suspicion is None or (decision.verdict == NOT_ENOUGH and not last):
            return
        if decision.verdict == REGRESSED and not self._survives(case):
            # More pairs may still lower its p-value.
            if not last:
                return
            count = len(self.cases.keys() - self.advisory)
            state.unconfirmed = f"does not pass Holm's procedure over {count} cases"
            decision = Decision(NOT_ENOUGH, decision.effect, decision.low, decision.high, decision.pairs)
        elif decision.verdict != REGRESSED:
            state.unconfirmed = f"regressed on {suspicion.pairs} pairs, but not on fresh ones"
        state.verdict = confirm(suspicion, decision)

    def _survives(self, case: str) -> bool:
        """Whether Holm's procedure over the cases that are not advisory rejects "not slower than Δ/2"."""
        # A suspected case is tested only on its fresh pairs, because its first ones were selected for being
        # slow. A case with another verdict has p = 1, and still counts as a hypothesis.
        p_values = {
            name: p_value(state.effects, state.margin)
            if state.verdict is None or state.verdict.verdict == REGRESSED
            else 1.0
            for name, state in self.cases.items()
            if name not in self.advisory
        }
        return case in holm(p_values, HOLM_LEVEL)
