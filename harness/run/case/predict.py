"""Prediction of a case's time from its shorter lengths, to skip a case that cannot fit its budget."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from dataclasses import dataclass
from typing import NamedTuple

from harness.core.case import Case
from harness.core.record import Cost
from harness.core.static_figures import Static
from harness.core.units import format_count, format_seconds

STEEPEST = 3.0  # a steeper growth between two lengths is noise, or the edge of a cache
STEPS = 2  # the steepest of so many latest steps between lengths gives the growth


@dataclass(frozen=True)
class KnownWork:
    """The known FLOPs of a case: counted in the program, and by the family's formula."""

    counted: float | None = None
    source: str | None = None
    formula: float | None = None

    @classmethod
    def of(cls, static: Static | None, cost: Cost) -> KnownWork:
        if static is None:
            return cls(formula=cost.flops)
        return cls(static.flops, static.flops_source, cost.flops)

    def times(self, other: KnownWork) -> tuple[float, str] | None:
        """(ratio to the work of `other`, the figure it is by); None where they have no figure in common."""
        if self.counted and other.counted and self.source == other.source:
            return self.counted / other.counted, f"{self.source} FLOPs"
        if self.formula and other.formula:
            return self.formula / other.formula, "analytic FLOPs"
        return None


class PredictedCall(NamedTuple):
    """`seconds` of one call, the `exponent` of its growth with the length, and the source of that growth."""

    seconds: float
    exponent: float
    basis: str


class CallPredictor:
    """Call times and work by series and length, and the lengths at which a series failed (oom, timeout)."""

    def __init__(self) -> None:
        self.calls: dict[str, dict[int, tuple[float, KnownWork]]] = defaultdict(dict)
        self.failures: dict[tuple[str, bool], tuple[int, str]] = {}

    def record(self, case: Case, seconds: float, work: KnownWork) -> None:
        """Record the seconds of one call of a case, in place of an earlier value."""
        if seconds > 0:
            self.calls[case.series][case.seq] = seconds, work

    def record_failure(self, case: Case, status: str, *, compiling: bool = False) -> None:
        """Record an oom or timeout: larger lengths of the series are not run, or not even compiled."""
        earlier = self.failures.get((case.series, compiling))
        if earlier is None or case.seq < earlier[0]:
            self.failures[case.series, compiling] = (case.seq, status)

    def inferred_skip(self, case: Case, *, compiling: bool = False) -> str | None:
        """Why not to run (or compile) a case: a shorter length of its series already failed."""
        earlier = self.failures.get((case.series, compiling))
        if earlier is None or case.seq <= earlier[0]:
            return None
        what = f"{earlier[1]} of compiling" if compiling else earlier[1]
        return f"inferred from the {what} at seq {format_count(earlier[0])}; --seq {case.seq} alone tries it"

    def predict(self, case: Case, work: KnownWork) -> PredictedCall | None:
        """The predicted time of one call, extrapolated from the longest shorter length; None without one.

        Growth is the steeper of the latest measured steps (a fixed cost hides it at small lengths);
        after a single length it is the growth of the work.
        """
        shorter = sorted((n, *measured) for n, measured in self.calls[case.series].items() if n < case.seq)
        if not shorter:
            return None
        latest, seconds, latest_work = shorter[-1]
        ratio = case.seq / latest
        steps = [_exponent(n1 / n0, s1 / s0) for (n0, s0, _), (n1, s1, _) in itertools.pairwise(shorter)]
        if steps:
            exponent, basis = max(steps[-STEPS:]), "shorter lengths"
        elif growth := work.times(latest_work):
            exponent, basis = _exponent(ratio, growth[0]), f"{growth[1]} and seq {format_count(latest)}"
        else:
            return None
        return PredictedCall(seconds * ratio**exponent, exponent, basis)

    def over_budget(self, case: Case, work: KnownWork, longest_s: float) -> str | None:
        """Why not to run a case: one call is predicted to take longer than `longest_s`."""
        predicted = self.predict(case, work)
        if predicted is None or predicted.seconds <= longest_s:
            return None
        return (
            f"predicted {format_seconds(predicted.seconds, 2)} a call "
            f"(exponent {predicted.exponent:.2f}, from {predicted.basis}); "
            f"the limit here is {format_seconds(longest_s, 2)}: raise --budget"
        )


def _exponent(length: float, growth: float) -> float:
    """The exponent of a growth with the length, clamped because noise can make it negative or absurd."""
    return min(STEEPEST, max(0.0, math.log(growth) / math.log(length)))
