"""What a case will take, from its shorter lengths: to skip what cannot fit its budget."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from dataclasses import dataclass

from harness.core.case import Case
from harness.core.record import Cost
from harness.core.static_figures import Static
from harness.core.units import format_count, format_seconds

STEEPEST = 3.0  # a steeper growth between two lengths is noise, or the edge of a cache
PAIRS = 2  # how many of the latest steps are asked for their growth


@dataclass(frozen=True)
class KnownWork:
    """FLOPs of a case as far as they are known: counted in the program, and by the family's formula."""

    counted: float | None = None
    source: str | None = None
    formula: float | None = None

    @classmethod
    def of(cls, static: Static | None, cost: Cost) -> KnownWork:
        if static is None:
            return cls(formula=cost.flops)
        return cls(static.flops, static.flops_source, cost.flops)

    def times(self, other: KnownWork) -> tuple[float, str] | None:
        """(how many times the work of `other`, by which figure); None where both lack the same figure."""
        if self.counted and other.counted and self.source == other.source:
            return self.counted / other.counted, f"{self.source} FLOPs"
        if self.formula and other.formula:
            return self.formula / other.formula, "analytic FLOPs"
        return None


@dataclass(frozen=True)
class Predicted:
    """`seconds` of one call, its growth with the length, and what that growth was read from."""

    seconds: float
    exponent: float
    basis: str


class Prediction:
    """Call times and work by series and length, and lengths at which a series ran out of something."""

    def __init__(self) -> None:
        self.seen: dict[str, dict[int, tuple[float, KnownWork]]] = defaultdict(dict)
        self.stops: dict[tuple[str, bool], tuple[int, str]] = {}

    def note(self, case: Case, seconds: float, work: KnownWork) -> None:
        """One call of a case took so long; a later word about the same case counts."""
        if seconds > 0:
            self.seen[case.series][case.seq] = seconds, work

    def stop(self, case: Case, status: str, *, compiling: bool = False) -> None:
        """An oom or a timeout: larger lengths of the series are not run, or not even compiled."""
        known = self.stops.get((case.series, compiling))
        if known is None or case.seq < known[0]:
            self.stops[case.series, compiling] = (case.seq, status)

    def inferred(self, case: Case, *, compiling: bool = False) -> str | None:
        """Why not to run (or compile) a case, because a shorter length already failed at it."""
        known = self.stops.get((case.series, compiling))
        if known is None or case.seq <= known[0]:
            return None
        what = f"{known[1]} of compiling" if compiling else known[1]
        return f"inferred from the {what} at seq {format_count(known[0])}; --seq {case.seq} alone tries it"

    def call(self, case: Case, work: KnownWork) -> Predicted | None:
        """One call, extrapolated from the longest shorter length; None with nothing to go on.

        Growth is the steeper of the latest measured steps (a fixed cost hides it at small lengths);
        after a single length it is that of the work.
        """
        shorter = sorted((n, *seen) for n, seen in self.seen[case.series].items() if n < case.seq)
        if not shorter:
            return None
        latest, seconds, before = shorter[-1]
        ratio = case.seq / latest
        steps = [_exponent(n1 / n0, s1 / s0) for (n0, s0, _), (n1, s1, _) in itertools.pairwise(shorter)]
        if steps:
            exponent = max(steps[-PAIRS:])
            return Predicted(seconds * ratio**exponent, exponent, "shorter lengths")
        grown = work.times(before)
        if grown is None:
            return None
        exponent = _exponent(ratio, grown[0])
        return Predicted(seconds * ratio**exponent, exponent, f"{grown[1]} and seq {format_count(latest)}")

    def over_budget(self, case: Case, work: KnownWork, budget_s: float) -> str | None:
        """Why not to run a case, because not even one call fits its budget."""
        predicted = self.call(case, work)
        if predicted is None or predicted.seconds <= budget_s:
            return None
        return (
            f"predicted {format_seconds(predicted.seconds, 2)} a call "
            f"(exponent {predicted.exponent:.2f}, from {predicted.basis}); "
            f"the budget is {format_seconds(budget_s, 2)}: raise --budget"
        )


def _exponent(length: float, grown: float) -> float:
    """The power of the length by which something grew; noise makes it neither negative nor absurd."""
    return min(STEEPEST, max(0.0, math.log(grown) / math.log(length)))
