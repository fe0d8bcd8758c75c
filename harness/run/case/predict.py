"""Prediction of a case's time from its shorter lengths, to skip a case that cannot fit its budget."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from typing import NamedTuple

from harness.core.case import Case
from harness.core.units import format_count, format_seconds

STEEPEST = 3.0  # a steeper growth between two lengths is noise, or the edge of a cache
STEPS = 2  # the number of latest steps between lengths; the steepest of them gives the growth


class PredictedCall(NamedTuple):
    """`seconds` of one call, and the `exponent` of its growth with the length."""

    seconds: float
    exponent: float


class CallPredictor:
    """Predicts call times from those by series and length, and failures (oom, timeout) from shorter ones."""

    def __init__(self) -> None:
        self.calls: dict[str, dict[int, float]] = defaultdict(dict)
        self.failures: dict[tuple[str, bool], tuple[int, str]] = {}

    def record(self, case: Case, seconds: float) -> None:
        """Record the seconds of one call of a case, in place of an earlier value."""
        if seconds > 0:
            self.calls[case.series][case.seq] = seconds

    def record_failure(self, case: Case, status: str, *, compiling: bool = False) -> None:
        """Record an oom or timeout: longer lengths of the series are not run, or not compiled."""
        earlier = self.failures.get((case.series, compiling))
        if earlier is None or case.seq < earlier[0]:
            self.failures[case.series, compiling] = (case.seq, status)

    def inferred_skip(self, case: Case, *, compiling: bool = False) -> str | None:
        """Why not to run (or compile) a case: a shorter length of its series already failed."""
        earlier = self.failures.get((case.series, compiling))
        if earlier is None or case.seq <= earlier[0]:
            return None
        what = f"{earlier[1]} of compiling" if compiling else earlier[1]
        return f"inferred from the {what} at seq {format_count(earlier[0])}; to try it: --seq {case.seq} only"

    def predict(self, case: Case) -> PredictedCall | None:
        """The predicted time of one call, extrapolated from the longest shorter length; None without two.

        Growth is the steeper of the latest measured steps: a fixed cost hides it at small lengths.
        """
        shorter = sorted((n, seconds) for n, seconds in self.calls[case.series].items() if n < case.seq)
        steps = [_exponent(n1 / n0, s1 / s0) for (n0, s0), (n1, s1) in itertools.pairwise(shorter)]
        if not steps:
            return None
        latest, seconds = shorter[-1]
        exponent = max(steps[-STEPS:])
        return PredictedCall(seconds * (case.seq / latest) ** exponent, exponent)

    def over_budget(self, case: Case, longest_s: float) -> str | None:
        """Why not to run a case: one call is predicted to take longer than `longest_s`."""
        predicted = self.predict(case)
        if predicted is None or predicted.seconds <= longest_s:
            return None
        needed = f"{math.ceil(1.2 * predicted.seconds)}s"  # a fifth more, because predictions are uncertain
        return (
            f"predicted {format_seconds(predicted.seconds, 2)} a call "
            f"(exponent {predicted.exponent:.2f}, from shorter lengths); "
            f"the limit here is {format_seconds(longest_s, 2)}: raise --budget to {needed}"
        )


def _exponent(length: float, growth: float) -> float:
    """The exponent of a growth with the length, clamped because noise can make it negative or absurd."""
    return min(STEEPEST, max(0.0, math.log(growth) / math.log(length)))
