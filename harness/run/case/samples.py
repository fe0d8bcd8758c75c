"""The samples of a case: the known time of a call, how it is sampled, and the readings of its rounds."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

from harness.core.grouped import collected
from harness.core.median_interval import median_interval
from harness.core.record import GpuReading, Timing
from harness.run.case.memoization import FirstAndAgain

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
