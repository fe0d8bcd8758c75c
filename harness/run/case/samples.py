"""The samples of a case: how a call is sampled, its rounds, and whether results are cached by value."""

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
# the second one. Fetching its code again also costs a fixed time: on shared cores, six calls of numpy take
# 110 to 190 µs after the caches were refilled, and 15 µs after that.
AGAIN_FACTOR = 3.0
AGAIN_SECONDS = 3e-4
# A sample is the mean of consecutive calls on the same values, to which caches and predictors adapt further.
SAMPLED_FACTOR = 6.0


class FirstAndAgain(NamedTuple):
    """Seconds of a call on new values, of a repeated call right after it, and of sampled calls.

    Samples rotate over two sets of inputs, so an implementation that caches results by input value would be
    timed looking them up, which a real caller never sees. A cache may also wait until no new values have come
    for a while: then the repeated call is slow too, and only the samples are fast.

    `queued` is the time that its threads waited for a core meanwhile, in units of the calls' time.
    """

    first_s: float
    again_s: float | None  # None: no call was repeated
    sampled_s: float | None = None  # at about the same time; None: use the median of all samples
    queued: float = 0.0

    def seen_s(self, sampled_s: float) -> tuple[float, float]:
        now_s = sampled_s if self.sampled_s is None else self.sampled_s
        return now_s if self.again_s is None else self.again_s, now_s

    def looks_memoized(self, sampled_s: float) -> bool:
        """Whether repeated calls or samples are much faster; `sampled_s` is the median of all samples."""
        factors = zip((AGAIN_FACTOR, SAMPLED_FACTOR), self.seen_s(sampled_s), strict=True)
        return any(self.first_s > factor * s and self.first_s - s > AGAIN_SECONDS for factor, s in factors)


def all_look_memoized(calls: Sequence[FirstAndAgain], sampled_s: float) -> bool:
    """Whether all calls look memoized: a disturbance would not hit every one of them."""
    return bool(calls) and all(call.looks_memoized(sampled_s) for call in calls)


def memoization_reason(calls: Sequence[FirstAndAgain], sampled_s: float) -> str:
    """The reason as a sentence, with the times of the call that shows it least."""
    pairs = [(call.first_s, min(call.seen_s(sampled_s))) for call in calls]
    first_s, again_s = min(pairs, key=lambda pair: pair[0] / max(pair[1], 1e-9))
    first, again = format_seconds(first_s), format_seconds(again_s)
    return f"caches results by input value: {first} for new inputs, {again} for repeated ones"


SAMPLE_SECONDS = 1e-3  # a sample is at least this long; shorter calls are repeated within it
LONG_CALL_SECONDS = 0.25  # longer calls need no warm-up call, and their last sample is the verified one
VERIFIED_ONCE_SECONDS = 0.05  # longer calls are verified once while timed: it costs 3 calls and a reference


@dataclass(frozen=True)
class KnownCall:
    """Figures of one call, from its verification and, in a gate, from its latest pair.

    `recompiled` counts compilations in calls after the first.
    """

    seconds: float = 0.0
    high_water_bytes: int | None = None
    recompiled: int = 0

    @property
    def is_long(self) -> bool:
        """Whether a call takes so long that all calls are timed."""
        return self.seconds > LONG_CALL_SECONDS

    @property
    def is_verified_once(self) -> bool:
        """Whether a timed call is verified only at the end, and not also between samples."""
        return self.seconds > VERIFIED_ONCE_SECONDS

    @property
    def calls_per_sample(self) -> int:
        """The number of calls in one sample."""
        # A call below the clock's resolution may have been timed as 0 seconds.
        return max(1, math.ceil(SAMPLE_SECONDS / max(self.seconds, 1e-7)))


NOT_CALLED = KnownCall()


@dataclass(frozen=True)
class SamplingSetup:
    """How a case is sampled: `sets` of inputs in its process, and `inner` calls in a sample."""

    sets: int = 1
    inner: int = 1
    method: str = "wall"
    cache: str = "rotated"


ONE_BY_ONE = SamplingSetup()


@dataclass
class Samples:
    """The samples so far: `timed` as (round, seconds per call), and the evidence for warnings about them.

    `first_round` is the stored number of the first of its rounds.
    """

    timed: list[tuple[int, float]] = field(default_factory=list[tuple[int, float]])
    first_and_again: list[FirstAndAgain] = field(default_factory=list[FirstAndAgain])
    latencies_s: list[float] = field(default_factory=list[float])  # one for each turn on a device's clock
    queued: list[float] = field(default_factory=list[float])  # in units of each turn's samples
    other_load: float | None = None  # cores that other programs used meanwhile
    gpu_readings: Sequence[GpuReading] = ()
    warnings: list[str] = field(default_factory=list[str])
    stopped: str = "budget"
    first_round: int = 0

    @property
    def seconds(self) -> list[float]:
        """The samples in seconds per call, in the order they were taken."""
        return [seconds for _, seconds in self.timed]

    @property
    def median_s(self) -> float:
        return statistics.median(self.seconds)

    def timing(self, setup: SamplingSetup) -> Timing:
        """The samples for a record, with the median of the rounds' medians and its interval."""
        levels = [median_interval(values)[0] for values in collected(self.timed).values()]
        middle, low, high = median_interval(levels)
        latency = median_interval(self.latencies_s) if self.latencies_s else (None, None, None)
        return Timing(
            samples_s=tuple(self.seconds),
            round=tuple(round_ for round_, _ in self.timed),
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
