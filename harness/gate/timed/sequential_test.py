"""The cases of a gate while its pairs come in: who needs more, and what is said in the end.

A case is looked at after each number of pairs that its margin names. *Regressed* is said twice or
not at all: the first time it only asks for fresh pairs, and on those it must hold again, and must
survive Holm's procedure over all cases of the gate.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from harness.gate.outcome import NOT_ENOUGH, REGRESSED
from harness.gate.timed.decision import Decision, Margin, confirmed, exceeding, holm, judge

HOLM_LEVEL = 0.05


@dataclass
class TestState:
    """A case's pairs: the first ones, and those of the confirmation once it is asked for."""

    margin: Margin
    first: list[float] = field(default_factory=list[float])
    fresh: list[float] | None = None
    suspicion: Decision | None = None
    verdict: Decision | None = None
    unconfirmed: str = ""  # why a suspicion was not confirmed

    @property
    def effects(self) -> list[float]:
        """The pairs that the next look is at."""
        return self.first if self.fresh is None else self.fresh

    @property
    def latest(self) -> Decision:
        """The verdict; before it is reached, what its pairs say so far, which is not enough."""
        return self.verdict or replace(judge(self.effects, self.margin), verdict=NOT_ENOUGH)


class SequentialTest:
    """`advisory` cases are the same program on both sides: one look is enough, nothing hangs on it."""

    def __init__(self, margins: Mapping[str, Margin], advisory: Collection[str] = ()) -> None:
        self.cases = {case: TestState(margin) for case, margin in margins.items()}
        self.advisory = set(advisory)

    def undecided(self) -> set[str]:
        return {case for case, standing in self.cases.items() if standing.verdict is None}

    def missing(self, case: str) -> int:
        """Pairs until the next look at a case."""
        standing = self.cases[case]
        count = len(standing.effects)
        return next((look - count for look in standing.margin.looks if look > count), 1)

    def advise(self, case: str) -> None:
        """From here on a case is advisory; a look that it has behind it was the one it needs."""
        self.advisory.add(case)
        standing = self.cases.get(case)
        if standing is not None and len(standing.first) >= min(standing.margin.looks):
            standing.verdict = (
                standing.verdict or standing.suspicion or judge(standing.first, standing.margin)
            )

    def drop(self, case: str) -> None:
        """The case is decided without its time."""
        self.cases.pop(case, None)

    def feed(self, case: str, effect: float) -> None:
        """One more pair of a case; ValueError for an effect that is no number."""
        if not math.isfinite(effect):
            raise ValueError(f"{case}: a pair's effect is no number; the pair must be measured again")
        standing = self.cases.get(case)
        if standing is None or standing.verdict is not None:
            return
        standing.effects.append(effect)
        if len(standing.effects) in standing.margin.looks:
            self._look(case, standing)

    def _look(self, case: str, standing: TestState) -> None:
        found = judge(standing.effects, standing.margin)
        last = found.pairs >= max(standing.margin.looks)
        if standing.fresh is not None and standing.suspicion is not None:
            self._confirm(case, standing, found, last=last)
        elif found.verdict == REGRESSED and case not in self.advisory:
            standing.suspicion, standing.fresh = found, []
        elif found.verdict != NOT_ENOUGH or last or case in self.advisory:
            standing.verdict = found

    def _confirm(self, case: str, standing: TestState, found: Decision, *, last: bool) -> None:
        suspicion = standing.suspicion
        if suspicion is None or (found.verdict == NOT_ENOUGH and not last):
            return
        if found.verdict == REGRESSED and not self._survives(case):
            if not last:
                return
            standing.unconfirmed = f"does not survive Holm's procedure over {len(self.cases)} cases"
            found = Decision(NOT_ENOUGH, found.effect, found.low, found.high, found.pairs)
        elif found.verdict != REGRESSED:
            standing.unconfirmed = f"{suspicion.pairs} pairs said regressed, fresh ones do not"
        standing.verdict = confirmed(suspicion, found)

    def _survives(self, case: str) -> bool:
        """Whether Holm's procedure over the whole gate rejects "not slower than Δ/2" for a case."""
        p_values = {
            name: exceeding(standing.effects, standing.margin)
            if standing.verdict is None or standing.verdict.verdict == REGRESSED
            else 1.0
            for name, standing in self.cases.items()
        }
        return case in holm(p_values, HOLM_LEVEL)
