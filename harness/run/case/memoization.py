"""Detection of memoization: a call that is slow on new values, and fast when it gets them again.

Samples rotate over two sets of inputs, so an implementation that caches answers by input values would be
timed looking them up, which a real caller never sees. A cache may also wait until no new values have come for
a while: then the second call on new values is slow too, and only the samples are fast.
"""

from collections.abc import Sequence
from typing import NamedTuple

from harness.core.units import format_seconds

# Caches, branch predictors and a sleeping thread pool make a first call on new values up to twice as slow as
# the second one, or slower by what it takes to fetch its code again: six calls of numpy take 110 to 190 µs
# after a refilling, and 15 µs after that, where others use the cores, too.
FACTOR = 3.0
SECONDS = 3e-4
# A sample is the mean of consecutive calls on the same values, to which the processor adapts further.
SAMPLED_FACTOR = 6.0


class FirstAndAgain(NamedTuple):
    """Seconds of a call on new values, of one on known values right after it, and of sampled calls.

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
        factors = zip((FACTOR, SAMPLED_FACTOR), self.seen_s(sampled_s), strict=True)
        return any(self.first_s > factor * s and self.first_s - s > SECONDS for factor, s in factors)


def all_look_memoized(calls: Sequence[FirstAndAgain], sampled_s: float) -> bool:
    """Whether all calls do: a disturbance would not hit every one of them."""
    return bool(calls) and all(call.looks_memoized(sampled_s) for call in calls)


def memoization_reason(calls: Sequence[FirstAndAgain], sampled_s: float) -> str:
    """The reason as a sentence, with the call that shows it least."""
    pairs = [(call.first_s, min(call.seen_s(sampled_s))) for call in calls]
    first_s, again_s = min(pairs, key=lambda pair: pair[0] / max(pair[1], 1e-9))
    first, again = format_seconds(first_s), format_seconds(again_s)
    return f"it remembers answers: {first} on values that it had not seen, {again} on values that it had"
