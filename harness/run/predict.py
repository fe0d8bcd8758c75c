"""What a case will take, from its shorter lengths: to skip what cannot fit its budget."""

from __future__ import annotations

import math
from collections import defaultdict

from harness.spec.case import Case
from harness.spec.units import format_count, format_seconds


class Prediction:
    """Call times by series and length, and lengths at which a series ran out of something."""

    def __init__(self) -> None:
        self.seconds: dict[str, dict[int, float]] = defaultdict(dict)
        self.stops: dict[str, tuple[int, str]] = {}

    def note(self, case: Case, seconds: float) -> None:
        self.seconds[case.series][case.seq] = seconds

    def stop(self, case: Case, status: str) -> None:
        """An oom or a timeout: larger lengths of the series are not tried."""
        known = self.stops.get(case.series)
        if known is None or case.seq < known[0]:
            self.stops[case.series] = (case.seq, status)

    def inferred(self, case: Case) -> str | None:
        """Why not to run a case, because a shorter length already failed."""
        known = self.stops.get(case.series)
        if known is None or case.seq <= known[0]:
            return None
        return (
            f"inferred from the {known[1]} at seq {format_count(known[0])}; --seq {case.seq} alone tries it"
        )

    def call_seconds(self, case: Case) -> tuple[float, float] | None:
        """(predicted seconds of one call, exponent) from the two longest shorter lengths."""
        shorter = sorted((n, s) for n, s in self.seconds[case.series].items() if n < case.seq)
        if len(shorter) < 2:
            return None
        (n0, s0), (n1, s1) = shorter[-2:]
        exponent = max(0.0, math.log(s1 / s0) / math.log(n1 / n0))
        return s1 * (case.seq / n1) ** exponent, exponent

    def over_budget(self, case: Case, budget_s: float) -> str | None:
        """Why not to run a case, because not even one call fits its budget."""
        predicted = self.call_seconds(case)
        if predicted is None or predicted[0] <= budget_s:
            return None
        seconds, exponent = predicted
        return (
            f"predicted {format_seconds(seconds, 2)} a call (exponent {exponent:.2f}, from shorter lengths); "
            f"the budget is {format_seconds(budget_s, 2)}: raise --budget"
        )
