"""Detectable slowdowns: the smallest Δ that a gate can promise to catch despite this machine's noise.

The noise is the standard deviation of the effects of pairs of processes that run the same code. Δ is held
when, at that noise, an effect of log(1+Δ) exceeds the threshold of Δ/2 within MAX_PAIRS pairs with a
probability of POWER. The confirmation on fresh pairs must succeed too, so some four of five gates report it.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from harness.analysis.stats import PROCESSES, t_half_width
from harness.gate.timed.decision import Margin

PAIRS = 8  # they estimate a standard deviation to within about a quarter
MAX_PAIRS = 12
DELTAS = (0.01, 0.02, 0.03, 0.04, 0.05, 0.07, 0.10, 0.15, 0.20, 0.30, 0.50)
POWER = 0.9
HELD_SHARE = 0.75  # of the cases must hold Δ: one noisy case does not speak for the machine


def pairs_needed(spread: float, distance: float, error: float, most: int, power: float = 0.5) -> int | None:
    """The fewest pairs whose one-sided bound is closer to the mean than `distance`; None if above `most`.

    The mean is itself random: where the true one is `distance` from the threshold, the bound clears it in
    half of all samples. A higher `power` adds the usual second quantile (Cohen 1988, on t tests).
    """
    for count in range(PROCESSES, most + 1):
        bound = t_half_width(spread, count, 1 - error)
        if bound + (t_half_width(spread, count, power) if power > 0.5 else 0.0) < distance:
            return count
    return None


@dataclass(frozen=True)
class CaseNoise:
    """The noise of a case in one regime. `effects` are log ratios of equal sides, one per pair."""

    case: str
    effects: tuple[float, ...]
    call_s: float

    @property
    def spread(self) -> float:
        return statistics.stdev(self.effects)

    def pairs_for(self, delta: float) -> int | None:
        """The fewest pairs that tell Δ from Δ/2 at this spread; None where MAX_PAIRS are not enough."""
        margin = Margin(delta)
        return pairs_needed(self.spread, margin.excluded - margin.least, margin.regressed, MAX_PAIRS, POWER)

    @property
    def smallest_delta(self) -> float | None:
        """The smallest of DELTAS that the case holds; None where it holds not even the largest."""
        return next((delta for delta in DELTAS if self.pairs_for(delta) is not None), None)


def held_delta(spreads: Sequence[CaseNoise]) -> float | None:
    """The Δ that three quarters of the cases hold; None without cases, or where too few hold any."""
    deltas = sorted(spread.smallest_delta or math.inf for spread in spreads)
    if not deltas:
        return None
    delta = deltas[math.ceil(HELD_SHARE * len(deltas)) - 1]
    return delta if math.isfinite(delta) else None
