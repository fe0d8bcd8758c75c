"""The samples of a case: how a call is sampled, its rounds, and whether they show remembered answers."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from harness.core.grouped import collected
from harness.core.median_interval import median_interval
from harness.core.record import GpuReading, Timing
from harness.core.units import format_seconds

# Caches, branch predictors and a sleeping thread pool make a first call on new values up to twice as slow as
# the second one, or slower by what it takes to fetch its code again: six calls of numpy take 110 to 190 µs
# after a refilling, and 15 µs after that, where others use the cores, too.
AGAIN_FACTOR = 3.0
AGAIN_SECONDS = 3e-4
# A sample is the mean of consecutive calls on the same values, to which the processor adapts further.
SAMPLED_FACTOR = 6.0


class FirstAndAgain(NamedTuple):
    """Seconds of a call on new values, of one on known values right after it, and of sampled calls.

    Samples rotate over two sets of inputs, so an implementation that caches answers by input values would be
    timed looking them up, which a real caller never sees. A cache may also wait until no new values have come
    for a while: then the second call on new values is slow too, and only the samples are fast.

    `queued` is the time that its threads waited for a core meanwhile, in units of the calls' time.
    """

    first_s: float
    again_s: float | None  # None: there was none
    sampled_s: float | None = None  # at about the same time; None: use the median of all samples
    queued: float = 0.0

    def seen_s(self, sampled_s: float) -> tuple[float, float]:
        now_s = sampled_s if self.sampled_s is None else self.sampled_s
        return now_s if self.again_s is None else self.again_s, now_s

    def looks_memoized(self, sampled_s: float) -> bool:
        """Whether it is much faster again, or in samples; `sampled_s` is the median of all samples."""
        factors = zip((AGAIN_FACTOR, SAMPLED_FACTOR), self.seen_s(sampled_s), strict=True)
        return any(self.first_s > factor * s and self.first_s - s > AGAIN_SECONDS for factor, s in factors)


def all_look_memoized(calls: Sequence[FirstAndAgain], sampled_s: float) -> bool:
    """Whether all calls do: a disturbance would not hit every one of them."""
    return bool(calls) and all(call.looks_memoized(sampled_s) for call in calls)


def memoization_reason(calls: Sequence[FirstAndAgain], sampled_s: float) -> str:
    """The reason as a sentence, with the call that shows it least."""
    pairs = [(call.first_s, min(call.seen_s(sampled_s))) for call in calls]
    first_s, again_s = min(pairs, key=lambda pair: pair[0] / max(pair[1], 1e-9))
    first, again = format_seconds(first_s), format_seconds(again_s)
    return f"it remembers answers: {first} on values that it had not seen, {again} on values that it had"


READING_SECONDS = 1e-3  # a reading is at least this long; shorter calls are repeated within it
LONG_CALL_SECONDS = 0.25  # longer calls need no warm-up call, and their last sample is the verified one
JUDGED_ONCE_SECONDS = 0.05  # longer calls are verified once under the clock: it costs 3 calls and a reference


@dataclass(frozen=True)
class KnownCall:
    """What is known of one call: from its verification and, in a gate, from its latest pair.

    `recompiled` counts compilations in calls after the first.
    """

    seconds: float = 0.0
    high_water_bytes: int | None = None
    recompiled: int = 0

    @property
    def is_long(self) -> bool:
        """Whether a call takes so long that no call of it is spent untimed."""
        return self.seconds > LONG_CALL_SECONDS

    @property
    def is_judged_once(self) -> bool:
        """Whether it is verified under the clock only at the end, and not once in between."""
        return self.seconds > JUDGED_ONCE_SECONDS

    @property
    def calls_per_reading(self) -> int:
        """How many calls make a reading."""
        # A call below the clock's resolution may have been read as 0 seconds.
        return max(1, math.ceil(READING_SECONDS / max(self.seconds, 1e-7)))


NOT_CALLED = KnownCall()


@dataclass(frozen=True)
class SamplingSetup:
    """How a case is sampled: `sets` of inputs that its process holds, and `inner` calls in a reading."""

    sets: int = 1
    inner: int = 1
    method: str = "wall"
    cache: str = "rotated"


ONE_BY_ONE = SamplingSetup()


@dataclass
class Samples:
    """What rounds append to: `readings` as (round, seconds per call), and the evidence against them.

    `first_round` is the stored number of the first of its rounds.
    """

    readings: list[tuple[int, float]] = field(default_factory=list[tuple[int, float]])
    first_and_again: list[FirstAndAgain] = field(default_factory=list[FirstAndAgain])
    latencies_s: list[float] = field(
        default_factory=list[float]
    )  # a reading of each turn on a device's clock
    queued: list[float] = field(default_factory=list[float])  # in units of each turn's readings
    other_load: float | None = None  # cores that other programs kept busy meanwhile
    gpu_readings: Sequence[GpuReading] = ()
    warnings: list[str] = field(default_factory=list[str])
    stopped: str = "budget"
    first_round: int = 0

    @property
    def seconds(self) -> list[float]:
        """The readings in seconds per call, in the order they were taken."""
        return [seconds for _, seconds in self.readings]

    @property
    def median_s(self) -> float:
        return statistics.median(self.seconds)

    def timing(self, setup: SamplingSetup) -> Timing:
        """The readings as a record has them, with the median of the rounds' medians and its interval."""
        levels = [median_interval(values)[0] for values in collected(self.readings).values()]
        middle, low, high = median_interval(levels)
        latency = median_interval(self.latencies_s) if self.latencies_s else (None, None, None)
        return Timing(
            samples_s=tuple(self.seconds),
            round=tuple(round_ for round_, _ in self.readings),
            median_s=middle,
            low_s=low,
            high_s=high,
            method=setup.method,
            cache=setup.cache,
            inner=setup.inner,
            stopped=self.stopped,
            warnings=tuple(self.warnings),
            gpu=tuple(self.gpu_readings),
            latency_s=latency[0],
            latency_low_s=latency[1],
            latency_high_s=latency[2],
            other_load=self.other_load,
            queued=statistics.median(self.queued) if self.queued else None,
        )
