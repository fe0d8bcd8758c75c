"""Detection of answers that are remembered: a call is slow on values it has not seen, and fast on them again.

Samples rotate over two sets of inputs, so whatever keeps its answers by their inputs' values is timed at
looking them up. No kernel gets the same values twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from harness.core.units import format_seconds

# What a call finds in caches, branch predictors and a resting thread pool makes a factor of up to two
# between its first and its second time on the same values, or some tens of microseconds.
FACTOR = 3.0
SECONDS = 1e-4


class FirstAndAgain(NamedTuple):
    """Seconds of a call on values that it has not seen, and of one on values that it has."""

    first_s: float
    again_s: float

    @property
    def looks_remembered(self) -> bool:
        return self.first_s > FACTOR * self.again_s and self.first_s - self.again_s > SECONDS


def look_remembered(calls: Sequence[FirstAndAgain]) -> bool:
    """Whether all of them do: what disturbs one call does not disturb each."""
    return bool(calls) and all(call.looks_remembered for call in calls)


def remembered_reason(calls: Sequence[FirstAndAgain]) -> str:
    """The sentence, by the call that says least."""
    call = min(calls, key=lambda call: call.first_s / max(call.again_s, 1e-9))
    first, again = format_seconds(call.first_s), format_seconds(call.again_s)
    return f"it remembers answers: {first} on values that it had not seen, {again} on values that it had"
