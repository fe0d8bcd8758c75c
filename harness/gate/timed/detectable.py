"""Detectable slowdowns: the smallest Δ that a gate can promise to catch despite this machine's noise.

The noise is the standard deviation of the effects of pairs of processes that run the same code. Δ is held
when, at that noise, an effect of log(1+Δ) exceeds the threshold of Δ/2 within MAX_PAIRS pairs with a
probability of POWER. The confirmation on fresh pairs must succeed too, so some four of five gates report it.
"""

import math
import statistics
from collections.abc import Sequence

from harness.analysis.stats import PROCESSES, t_half_width
from harness.gate.timed.decision import Margin

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


def pairs_for(spread: float, delta: float) -> int | None:
    """The fewest pairs that tell Δ from Δ/2 at this spread; None where MAX_PAIRS are not enough."""
    margin = Margin(delta)
    return pairs_needed(spread, margin.excluded - margin.least, margin.regressed, MAX_PAIRS, POWER)


def held_delta(spreads: Sequence[float]) -> float | None:
    """The Δ that three quarters of the cases hold; None without cases, or where too few hold any."""
    if not spreads:
        return None
    spread = sorted(spreads)[math.ceil(HELD_SHARE * len(spreads)) - 1]
    return next((delta for delta in DELTAS if pairs_for(spread, delta) is not None), None)


def noise_lines(effects: Sequence[Sequence[float]]) -> list[str]:
    """Which slowdown a gate can hold here, by the effects of each case's equal sides; none without pairs."""
    known = [each for each in effects if len(each) >= PROCESSES]
    if not known:
        return []
    spreads = [statistics.stdev(each) for each in known]
    delta = held_delta(spreads)
    held = f"a slowdown of {100 * delta:g} %" if delta else f"no slowdown up to {100 * DELTAS[-1]:g} %"
    median, most = (f"{100 * spread:.2g} %" for spread in (statistics.median(spreads), max(spreads)))
    line = f"equal sides spread by {median} between pairs (median of {len(spreads)} cases; at most {most}): "
    return [f"{line}with {MAX_PAIRS} pairs a gate can catch {held} in three quarters of them"]
