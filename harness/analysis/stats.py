"""Estimates with 95 % intervals, for one process and for several.

Over the rounds of one process, the interval of a median lies between two order statistics, which assumes no
distribution. From four processes, the process is the sampling unit: one effect per process, their mean on the
log scale, and Student's t. Rounds of different processes are never pooled, because the intervals would be far
too narrow.
"""

import math
import operator
import statistics
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from harness.analysis.timing_warnings import timing_warnings
from harness.core.clocks import is_one_clock
from harness.core.grouped import collected
from harness.core.median_interval import LEVEL, median, median_interval, samples_needed
from harness.core.record import Record, Timing

# Fewer give an interval too wide for a decision: at 95 %, t is 3.2 for four, 4.3 for three, 12.7 for two.
PROCESSES = 4

ROUNDS = "rounds"
BY_PROCESS = "processes"

FASTER, SLOWER, SAME = "faster", "slower", "about the same"
UNDECIDED, DOUBTFUL, NO_INTERVAL = "undecided", "doubtful", "no interval"
SAME_UP_TO = 1.1  # equal programs differ by less than this between two processes on a quiet machine


Process = tuple[str, int]  # run and replicate


class Estimate(NamedTuple):
    """A value with its interval; missing parts are None, and `reason` says why.

    `unit` is the sampling unit that `samples` counts: `rounds`, `processes`, or empty. `doubtful`: other
    programs used the processor during sampling.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    samples: int = 0
    unit: str = ""
    reason: str | None = None
    warnings: tuple[str, ...] = ()
    doubtful: bool = False

    @property
    def label(self) -> str:
        return {ROUNDS: "within one process", BY_PROCESS: "by process"}.get(self.unit, "")

    def map(self, function: Callable[[float], float | None], *, falling: bool = False) -> "Estimate":
        """The estimate of a monotonic function of the value; a falling one swaps the bounds."""
        value, low, high = [None if x is None else function(x) for x in self[:3]]
        return Estimate(value, *((high, low) if falling else (low, high)), *self[3:])

    @property
    def inverse(self) -> "Estimate":
        """The reciprocal: for a speedup, the ratio of the case's time to the baseline's."""
        return self.map(lambda value: 1 / value, falling=True)

    def flat_fields(self, value: str, *others: str) -> dict[str, Any]:
        """The value under another name and the fields `others`, for dataclasses with flat fields."""
        return {value: self.value, **{name: getattr(self, name) for name in others}}


def interval_verdict(times: Estimate) -> str:
    """FASTER, SLOWER, SAME, UNDECIDED, DOUBTFUL or NO_INTERVAL, for a ratio of two times.

    Below SAME_UP_TO, the rounds of one process cannot separate a difference from that between two processes
    of one program: of 20 such pairs on a quiet machine, 10 had an interval without 1 (docs/RELIABILITY.md).
    """
    if times.doubtful:
        return DOUBTFUL
    if times.low is None or times.high is None:
        return NO_INTERVAL
    is_close = times.low >= 1 / SAME_UP_TO and times.high <= SAME_UP_TO
    if times.low <= 1 <= times.high or (is_close and times.unit == ROUNDS):
        return SAME if is_close else UNDECIDED
    return FASTER if times.high < 1 else SLOWER


@lru_cache(maxsize=256)
def student_t(probability: float, freedom: int) -> float:
    """The quantile of Student's t with this many degrees of freedom."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, probability))


def t_half_width(spread: float, count: int, probability: float = (1 + LEVEL) / 2) -> float:
    """Half the interval of a mean of `count` values with this standard deviation, by Student's t.

    `probability` is the quantile of one end; the default gives a 95 % interval.
    """
    return student_t(probability, count - 1) * spread / math.sqrt(count)


def standard_deviation(values: Sequence[float]) -> float:
    """The sample standard deviation of two or more values, to the last digits of a float.

    `statistics.stdev` sums fractions and takes thirty times as long, which is noticeable with many cases.
    """
    middle = statistics.fmean(values)
    return math.sqrt(math.fsum((value - middle) ** 2 for value in values) / (len(values) - 1))


def time_of(records: Sequence[Record]) -> Estimate:
    """Seconds per call of one case, from its replicates.

    For one process the recorded median over its rounds; for several the mean of their medians on the log
    scale.
    """
    timings = [record.timing for record in records if record.timing is not None]
    if not timings:
        return Estimate(None, reason="not timed")
    own = (warning for timing in timings for warning in timing_warnings(timing))
    warnings = tuple(dict.fromkeys([*_warnings(timings), *own]))
    if len(timings) == 1:
        only = timings[0]
        rounds = len(set(only.round))
        reason = too_few(rounds, ROUNDS) if only.low_s is None or only.high_s is None else None
        return Estimate(_median_of_rounds(only), only.low_s, only.high_s, rounds, ROUNDS, reason, warnings)
    return _over_processes([math.log(timing.median_s) for timing in timings], warnings).map(math.exp)


def _median_of_rounds(timing: Timing) -> float:
    """The median that belongs to the interval. Older records have the median of all samples instead."""
    low, high = timing.low_s, timing.high_s
    if low is None or high is None or low <= timing.median_s <= high:
        return timing.median_s
    by_round = collected(zip(timing.round, timing.samples_s, strict=True))
    return median([median(samples) for samples in by_round.values()])


def ratio(of: Sequence[Record], to: Sequence[Record], level: float = LEVEL) -> Estimate:
    """The time of `of` divided by the time of `to`, from replicates that ran in the same rounds.

    Per round it takes the logarithm of the quotient of both medians, and per process the median over the
    rounds that both sides have.
    """
    return _compare_medians((of, to), _log_ratio, level)[0].map(math.exp)


def ratio_of_ratios(sides: Sequence[Sequence[Record]], level: float) -> Estimate:
    """(first / second) / (third / fourth) for the times of four sides, from the rounds that all have."""
    logs, _ = _compare_medians(sides, lambda a, b, c, d: math.log(a / b * d / c), level)
    return logs.map(math.exp)


def unanimous_ratio(of: Sequence[Record], to: Sequence[Record]) -> tuple[Estimate, bool]:
    """:func:`ratio`, and whether all its samples, of two or more, are on one side of 1."""
    estimate, logs = _compare_medians((of, to), _log_ratio)
    return estimate.map(math.exp), len(logs) > 1 and (min(logs) > 0 or max(logs) < 0)


def time_saved(of: Sequence[Record], to: Sequence[Record], layers: int) -> Estimate:
    """Seconds that `of` saves over `to` in `layers` calls, from the same rounds as :func:`ratio`."""
    return _compare_medians((of, to), lambda mine, theirs: layers * (theirs - mine))[0]


def _timed_together(sides: Sequence[Sequence[Record]]) -> dict[Process, list[Timing]]:
    """Process → the timings of all sides, for processes that have all of them."""
    each = [{(r.run, r.replicate): r.timing for r in side if r.timing is not None} for side in sides]
    return {process: [s[process] for s in each] for process in each[0] if all(process in s for s in each)}


def _compare_medians(
    sides: Sequence[Sequence[Record]], compare: Callable[..., float], level: float = LEVEL
) -> tuple[Estimate, Sequence[float]]:
    """(the estimate of `compare` over all sides' medians in each round, its samples).

    The samples are the rounds of one process, or for several processes their medians over rounds.
    """
    together = _timed_together(sides).values()
    if not together:
        return Estimate(None, reason="no process has all sides"), ()
    if not is_one_clock(*{timing.method for timings in together for timing in timings}):
        return Estimate(None, reason="timed by different clocks"), ()
    effects = [effect for timings in together if (effect := by_round(timings, compare))]
    if not effects:
        return Estimate(None, reason="no round has all sides"), ()
    warnings = _warnings([timing for timings in together for timing in timings])
    samples = effects[0] if len(effects) == 1 else [median(effect) for effect in effects]
    estimate = (over_rounds if len(effects) == 1 else _over_processes)(samples, warnings, level)
    return estimate._replace(doubtful=any(t.was_queued for timings in together for t in timings)), samples


def _log_ratio(mine: float, theirs: float) -> float:
    return math.log(mine / theirs)


def by_round(timings: Sequence[Timing], compare: Callable[..., float]) -> list[float]:
    """`compare` applied to the timings' medians in every common round, in order."""
    first = timings[0].round
    if all(timing.round == first for timing in timings) and _once_in_order(first):
        return list(map(compare, *(timing.samples_s for timing in timings)))
    medians = [round_medians(timing) for timing in timings]
    # Within a round, because a machine's drift of several percent affects all sides equally and cancels.
    shared = sorted(set(medians[0]).intersection(*medians[1:]))
    return [compare(*(each[r] for each in medians)) for r in shared]


@lru_cache(maxsize=256)
def _once_in_order(rounds: tuple[int, ...]) -> bool:
    return all(map(operator.lt, rounds, rounds[1:]))


@lru_cache(maxsize=64)  # a baseline's are needed for every implementation of its group
def round_medians(timing: Timing) -> Mapping[int, float]:
    """Round → median of its samples, in seconds."""
    single = dict(zip(timing.round, timing.samples_s, strict=True))
    if len(single) == len(timing.round):  # one sample per round, as for slow cases
        return single
    rounds: dict[int, list[float]] = {}
    for sample, number in zip(timing.samples_s, timing.round, strict=True):
        rounds.setdefault(number, []).append(sample)
    return {number: median(samples) for number, samples in rounds.items()}


def required(unit: str, level: float = LEVEL) -> str:
    """`needs ≥ 6 rounds`."""
    return f"needs ≥ {PROCESSES if unit == BY_PROCESS else samples_needed(level)} {unit}"


def too_few(has: int, unit: str, level: float = LEVEL) -> str:
    """`needs ≥ 6 rounds; has 3`."""
    return f"{required(unit, level)}; has {has}"


def over_rounds(values: Sequence[float], warnings: tuple[str, ...] = (), level: float = LEVEL) -> Estimate:
    """The median over the rounds of one process."""
    middle, low, high = median_interval(values, level)
    reason = too_few(len(values), ROUNDS, level) if low is None else None
    return Estimate(middle, low, high, len(values), ROUNDS, reason, warnings)


def _over_processes(effects: Sequence[float], warnings: tuple[str, ...], level: float = LEVEL) -> Estimate:
    count = len(effects)
    mean = statistics.fmean(effects)
    if count < PROCESSES:
        return Estimate(mean, None, None, count, BY_PROCESS, too_few(count, BY_PROCESS), warnings)
    half = t_half_width(standard_deviation(effects), count, (1 + level) / 2)
    return Estimate(mean, mean - half, mean + half, count, BY_PROCESS, None, warnings)


def _warnings(timings: Sequence[Timing]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(warning for timing in timings for warning in timing.warnings))
