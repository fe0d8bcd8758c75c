"""The decision on one case: regressed, unchanged or not enough evidence, by tests against a margin.

The unit is a pair of processes, one per side, sampled in the same rounds: its effect is the median
over the rounds of log(candidate / base). Over pairs, the mean and Student's t interval. *Regressed* claims
a slowdown of more than Δ/2, where Δ is the slowdown that the gate promises to catch. *Unchanged* claims
less than Δ, as in an equivalence test. Where neither holds there is not enough evidence yet. Nothing is
tested against "no difference at all": with enough samples that hypothesis is always rejected.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.analysis.stats import PROCESSES, student_t
from harness.gate.outcome import IMPROVED, NOT_ENOUGH, REGRESSED, UNCHANGED

# Twice as slow: eight times the largest effect (9 %) of 360 pairs with the same code on both sides, on a
# shared machine. Two pairs beyond it decide without an estimate of the spread.
GROSS = math.log(2)


@dataclass(frozen=True)
class Margin:
    """The thresholds of a decision. `slowdown` is Δ, the smallest slowdown promised to be caught, as a share.

    `regressed` and `unchanged` are the one-sided error rates of the two claims. `looks` are the numbers of
    pairs after which there is an interim analysis. Repeated looks are not corrected for, because the margin
    absorbs them (measured: 0.03 % false alarms with these five looks).
    """

    slowdown: float = 0.05
    regressed: float = 0.01
    unchanged: float = 0.01
    looks: tuple[int, ...] = (4, 6, 8, 10, 12)

    @property
    def least(self) -> float:
        """log(1 + Δ/2): the effect that a regression must exceed."""
        return math.log1p(self.slowdown / 2)

    @property
    def excluded(self) -> float:
        """log(1 + Δ): the effect that must be excluded to call a case unchanged."""
        return math.log1p(self.slowdown)


@dataclass(frozen=True)
class Decision:
    """Effects on the log scale: above 0 the candidate is slower. Bounds are None with too few pairs."""

    verdict: str
    effect: float | None
    low: float | None
    high: float | None
    pairs: int


def pair_effect(round_log_ratios: Sequence[float]) -> float:
    """The effect of one pair of processes. ValueError for a ratio that is not finite."""
    if not round_log_ratios or not all(map(math.isfinite, round_log_ratios)):
        raise ValueError("a round's ratio is missing or no number; the pair must be measured again")
    return statistics.median(round_log_ratios)


def judge(effects: Sequence[float], margin: Margin) -> Decision:
    """The verdict on these pairs."""
    if not all(map(math.isfinite, effects)):
        raise ValueError("a pair's effect is no number; the pair must be measured again")
    count = len(effects)
    if count < PROCESSES:
        return Decision(NOT_ENOUGH, statistics.fmean(effects) if effects else None, None, None, count)
    mean = statistics.fmean(effects)
    error = statistics.stdev(effects) / math.sqrt(count)
    low = mean - student_t(1 - margin.regressed, count - 1) * error
    high = mean + student_t(1 - margin.unchanged, count - 1) * error
    # On a quiet machine both claims hold at once for a true slowdown between Δ/2 and Δ. Then the
    # verdict is regressed (docs/2026-11-20-gate.md).
    if low > margin.least:
        verdict = REGRESSED
    elif high < -margin.least:
        verdict = IMPROVED
    elif high < margin.excluded:
        verdict = UNCHANGED
    else:
        verdict = NOT_ENOUGH
    return Decision(verdict, mean, low, high, count)


def confirm(first: Decision, fresh: Decision) -> Decision:
    """The decision after confirmation: regressed only if the fresh pairs alone are, too; else open."""
    if first.verdict != REGRESSED:
        return first
    if fresh.verdict == REGRESSED:
        return fresh
    return Decision(NOT_ENOUGH, fresh.effect, fresh.low, fresh.high, first.pairs + fresh.pairs)


def gross(effects: Sequence[float]) -> Decision:
    """Regressed without bounds, for a case all of whose pairs, too few for bounds, are beyond `GROSS`."""
    return Decision(REGRESSED, statistics.fmean(effects), None, None, len(effects))


def p_value(effects: Sequence[float], margin: Margin) -> float:
    """The one-sided p-value of "not slower than Δ/2" on these pairs; 1 with too few."""
    if len(effects) < PROCESSES:
        return 1.0
    from scipy.special import stdtr

    error = statistics.stdev(effects) / math.sqrt(len(effects))
    distance = statistics.fmean(effects) - margin.least
    if error == 0:
        return 0.0 if distance > 0 else 1.0
    return float(1 - stdtr(len(effects) - 1, distance / error))


def holm(p_values: Mapping[str, float], level: float = 0.05) -> set[str]:
    """The hypotheses that Holm's procedure rejects: the family-wise error rate stays below `level`."""
    rejected: set[str] = set()
    for index, name in enumerate(sorted(p_values, key=lambda name: p_values[name])):
        # Valid under any dependence (Holm 1979), which is needed: all cases share the processes of a pair.
        if p_values[name] > level / (len(p_values) - index):
            break
        rejected.add(name)
    return rejected
