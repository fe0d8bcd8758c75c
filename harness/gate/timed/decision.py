"""Decision on one case: regressed, unchanged or not enough evidence, by tests against a margin.

The unit is a pair of processes, one per side, sampled in the same rounds: its effect is the median over the
rounds of log(candidate / base). Over pairs it uses the mean and Student's t interval. *Regressed* means a
slowdown of more than Δ/2, where Δ is the slowdown that the gate is designed to catch. *Unchanged* means less
than Δ, by an equivalence test. If both tests fail there is not enough evidence. No test is against "no
difference at all", because with enough samples that hypothesis is always rejected. The evidence is stored
with the decision. Pairs with the same code on both sides show which Δ is detectable on this machine.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.analysis.stats import PROCESSES, student_t, t_half_width
from harness.gate.outcome import IMPROVED, NOT_ENOUGH, REGRESSED, UNCHANGED

# Twice as slow: eight times the largest effect (9 %) of 360 pairs with the same code on both sides, on a
# shared machine. Two pairs beyond it decide without an estimate of the spread.
GROSS = math.log(2)


@dataclass(frozen=True)
class Margin:
    """Thresholds of a decision. `slowdown` is Δ, the smallest slowdown to be caught, as a fraction.

    `regressed` and `unchanged` are the one-sided error rates of the two tests. `looks` are the numbers of
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
        """log(1 + Δ): the effect that must be excluded for the verdict unchanged."""
        return math.log1p(self.slowdown)


@dataclass(frozen=True)
class Decision:
    """Verdict with its effect (log scale, above 0: slower). Bounds are None with too few pairs."""

    verdict: str
    effect: float | None
    low: float | None
    high: float | None
    pairs: int


def pair_effect(round_log_ratios: Sequence[float]) -> float:
    """Effect of one pair of processes. ValueError for a ratio that is not finite."""
    if not round_log_ratios or not all(map(math.isfinite, round_log_ratios)):
        raise ValueError("a round's ratio is missing or not finite; measure the pair again")
    return statistics.median(round_log_ratios)


def judge(effects: Sequence[float], margin: Margin) -> Decision:
    """Verdict on these pairs."""
    if not all(map(math.isfinite, effects)):
        raise ValueError("a pair's effect is not finite; measure the pair again")
    count = len(effects)
    if count < PROCESSES:
        return Decision(NOT_ENOUGH, statistics.fmean(effects) if effects else None, None, None, count)
    mean = statistics.fmean(effects)
    error = statistics.stdev(effects) / math.sqrt(count)
    low = mean - student_t(1 - margin.regressed, count - 1) * error
    high = mean + student_t(1 - margin.unchanged, count - 1) * error
    # On a quiet machine both tests succeed for a true slowdown between Δ/2 and Δ. Then the verdict is
    # regressed (docs/decisions.md).
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
    """Decision after confirmation: regressed only if the fresh pairs also show it."""
    if first.verdict != REGRESSED:
        return first
    if fresh.verdict == REGRESSED:
        return fresh
    return Decision(NOT_ENOUGH, fresh.effect, fresh.low, fresh.high, first.pairs + fresh.pairs)


def gross(effects: Sequence[float]) -> Decision:
    """Regressed, without bounds: all pairs are beyond `GROSS`, but there are too few for bounds."""
    return Decision(REGRESSED, statistics.fmean(effects), None, None, len(effects))


def p_value(effects: Sequence[float], margin: Margin) -> float:
    """One-sided p-value of "not slower than Δ/2" on these pairs; 1 with too few pairs."""
    if len(effects) < PROCESSES:
        return 1.0
    from scipy.special import stdtr

    error = statistics.stdev(effects) / math.sqrt(len(effects))
    distance = statistics.fmean(effects) - margin.least
    if error == 0:
        return 0.0 if distance > 0 else 1.0
    return float(1 - stdtr(len(effects) - 1, distance / error))


def holm(p_values: Mapping[str, float], level: float = 0.05) -> set[str]:
    """Hypotheses that Holm's procedure rejects at a family-wise error rate of `level`."""
    rejected: set[str] = set()
    for index, name in enumerate(sorted(p_values, key=lambda name: p_values[name])):
        # Valid under any dependence (Holm 1979), as all cases share the processes of a pair.
        if p_values[name] > level / (len(p_values) - index):
            break
        rejected.add(name)
    return rejected


# A slowdown Δ is detectable if, at the spread between equal sides, an effect of log(1+Δ) exceeds the
# threshold of Δ/2 within MAX_PAIRS pairs with a probability of POWER. The confirmation on fresh pairs must
# succeed too, so about four of five gates report it.
MAX_PAIRS = 12
DELTAS = (0.01, 0.02, 0.03, 0.04, 0.05, 0.07, 0.10, 0.15, 0.20, 0.30, 0.50)
POWER = 0.9
DETECTED_SHARE = 0.75  # Δ is detectable in this share of the cases: one noisy case may miss it


def pairs_for(spread: float, delta: float) -> int | None:
    """Fewest pairs that distinguish Δ from Δ/2 at this spread; None if MAX_PAIRS are not enough.

    The one-sided bound must be closer to the mean than Δ is to Δ/2. With only this term the test would
    succeed half of the time, because the mean is random. The second term, the usual second quantile
    (Cohen 1988, on t tests), raises this probability to POWER.
    """
    margin = Margin(delta)
    for count in range(PROCESSES, MAX_PAIRS + 1):
        bound = t_half_width(spread, count, 1 - margin.regressed)
        if bound + t_half_width(spread, count, POWER) < margin.excluded - margin.least:
            return count
    return None


def detectable_delta(spreads: Sequence[float]) -> float | None:
    """The smallest Δ of DELTAS that is detectable in three quarters of the cases; None if there is none."""
    if not spreads:
        return None
    spread = sorted(spreads)[math.ceil(DETECTED_SHARE * len(spreads)) - 1]
    return next((delta for delta in DELTAS if pairs_for(spread, delta) is not None), None)


def noise_lines(effects: Sequence[Sequence[float]]) -> list[str]:
    """Line on the detectable slowdown, from each case's effects in a self-check; empty without pairs."""
    known = [each for each in effects if len(each) >= PROCESSES]
    if not known:
        return []
    spreads = [statistics.stdev(each) for each in known]
    delta = detectable_delta(spreads)
    caught = f"a slowdown of {100 * delta:g} %" if delta else f"no slowdown up to {100 * DELTAS[-1]:g} %"
    median, most = (f"{100 * spread:.2g} %" for spread in (statistics.median(spreads), max(spreads)))
    spread = f"equal sides differ by {median} between pairs (median of {len(spreads)} cases, at most {most})"
    return [f"{spread}; with {MAX_PAIRS} pairs a gate can catch {caught} in three quarters of the cases"]


@dataclass(frozen=True)
class PairResult:
    """Result of one pair for one case: log(candidate / base) per round.

    `levels_s` are both sides' medians over rounds in seconds per call, candidate first. `tail` is the
    logarithm of the ratio of the 90th percentiles over all samples, None with too few.
    """

    pair: int
    case: str
    log_ratios: tuple[float, ...]
    levels_s: tuple[float, float]
    tail: float | None

    @property
    def effect(self) -> float:
        return pair_effect(self.log_ratios)


@dataclass(frozen=True)
class CaseEvidence:
    """Evidence on one case. Effects are logarithms, one per pair of processes.

    `first` are the pairs that led to a verdict, and `fresh` those of the confirmation. For both in this
    order, `rounds` are the log ratios of each pair's rounds and `levels_s` the seconds per call of
    (candidate, base). `same_program` is None if programs are not known.
    """

    slowdown: float
    first: tuple[float, ...] = ()
    fresh: tuple[float, ...] = ()
    rounds: tuple[tuple[float, ...], ...] = ()
    levels_s: tuple[tuple[float, float], ...] = ()
    same_program: bool | None = None

    @property
    def margin(self) -> Margin:
        return Margin(self.slowdown)

    @property
    def deciding(self) -> tuple[float, ...]:
        """The pairs that decide: the fresh pairs if there are any, else the first."""
        return self.fresh or self.first
