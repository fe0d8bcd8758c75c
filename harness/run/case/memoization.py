"""Detection of memoization: a call is slow on values that it has not seen, and fast on them again.

Samples rotate over two sets of inputs, so whatever keeps its answers by their inputs' values is timed at
looking them up. No kernel gets the same values twice. A memory may wait before it is used until nothing new
has come for a while: then the call beside the first one is slow as well, and only the samples are fast.
"""

from collections.abc import Sequence
from typing import NamedTuple

from harness.core.units import format_seconds

# What a call finds in caches, branch predictors and a resting thread pool makes a factor of up to two
# between its first and its second time on the same values, or what its code takes to be fetched again: six
# calls of numpy take 110 to 190 µs after a refilling, and 15 µs after that, where others use the cores, too.
FACTOR = 3.0
SECONDS = 3e-4
# A sample is the mean of calls on the same values, one after the other, which the processor learns better.
SAMPLED_FACTOR = 6.0


class FirstAndAgain(NamedTuple):
    """Seconds of a call on values that it has not seen, of one on values that it has, and in samples."""

    first_s: float
    again_s: float
    sampled_s: float | None = None  # at that time; None: no other than at all times

    def seen_s(self, sampled_s: float) -> tuple[float, float]:
        return self.again_s, sampled_s if self.sampled_s is None else self.sampled_s

    def looks_remembered(self, sampled_s: float) -> bool:
        """Beside the same call again, or beside its samples, whose median at all times is `sampled_s`."""
        factors = zip((FACTOR, SAMPLED_FACTOR), self.seen_s(sampled_s), strict=True)
        return any(self.first_s > factor * s and self.first_s - s > SECONDS for factor, s in factors)


def look_remembered(calls: Sequence[FirstAndAgain], sampled_s: float) -> bool:
    """Whether all of them do: what disturbs one call does not disturb each."""
    return bool(calls) and all(call.looks_remembered(sampled_s) for call in calls)


def remembered_reason(calls: Sequence[FirstAndAgain], sampled_s: float) -> str:
    """The sentence, by the call that says least."""
    pairs = [(call.first_s, min(call.seen_s(sampled_s))) for call in calls]
    first_s, again_s = min(pairs, key=lambda pair: pair[0] / max(pair[1], 1e-9))
    first, again = format_seconds(first_s), format_seconds(again_s)
    return f"it remembers answers: {first} on values that it had not seen, {again} on values that it had"
