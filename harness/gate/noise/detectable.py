"""Detectable slowdowns: which Δ a gate can promise to catch despite this machine's noise.

The noise is the spread of the effects between pairs of processes that run the same code. A slowdown Δ
is held when, at that spread, an effect of log(1+Δ) is told from Δ/2 within the pairs allowed in nine of ten
draws; the confirmation on fresh pairs asks for it once more, so that some four of five gates report it.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from harness.analysis.stats import PROCESSES, t_half_width
from harness.gate.timed.decision import Margin

PAIRS = 8  # enough for a spread that is known to about a quarter
MOST = 12
DELTAS = (0.01, 0.02, 0.03, 0.04, 0.05, 0.07, 0.10, 0.15, 0.20, 0.30, 0.50)
POWER = 0.9
QUARTER = 0.75  # of the cases must be held: one noisy case does not speak for the machine


def pairs_needed(spread: float, distance: float, error: float, most: int, power: float = 0.5) -> int | None:
    """The fewest pairs whose bound is nearer to the mean than `distance`; None where `most` are too few.

    That mean is itself drawn: with the true one `distance` away, the bound is passed in half of all draws. A
    higher `power` takes the usual second quantile (Cohen 1988, sample sizes for a t test).
    """
    for count in range(PROCESSES, most + 1):
        bound = t_half_width(spread, count, 1 - error)
        if bound + (t_half_width(spread, count, power) if power > 0.5 else 0.0) < distance:
            return count
    return None


@dataclass(frozen=True)
class Spread:
    """A case's noise in one regime. `effects` are log ratios of equal sides, one per pair."""

    case: str
    effects: tuple[float, ...]
    call_s: float

    @property
    def spread(self) -> float:
        return statistics.stdev(self.effects)

    def pairs_for(self, delta: float) -> int | None:
        """The fewest pairs that tell Δ from Δ/2 at this spread; None where MOST are not enough."""
        margin = Margin(delta)
        return pairs_needed(self.spread, margin.excluded - margin.least, margin.regressed, MOST, POWER)

    @property
    def holds(self) -> float | None:
        """The smallest of DELTAS that is held; None where the largest is not."""
        return next((delta for delta in DELTAS if self.pairs_for(delta) is not None), None)


def held_delta(spreads: Sequence[Spread]) -> float | None:
    """The Δ that three quarters of the cases hold; None without cases, or where too few hold any."""
    deltas = sorted(spread.holds if spread.holds is not None else math.inf for spread in spreads)
    if not deltas:
        return None
    delta = deltas[math.ceil(QUARTER * len(deltas)) - 1]
    return delta if math.isfinite(delta) else None
