"""Readings that the runner's own clock contradicts: an implementation may forge its process's.

The runner sees how long a whole turn took, `read_s` of it in readings and `rest_s` beside them: messages,
waking, collecting garbage and, in a run, an untimed call. There are two rules because two things are
known. A case alone must explain its rest itself, so it is allowed a call and some milliseconds a turn. In a
gate the other side's rest, in the same turns, says what a rest may be: then a quarter of what was read is
too much to hide.
"""

from __future__ import annotations

from harness.core.units import format_seconds

FREE_SECONDS = 0.05  # of a turn that readings need not explain: messages, waking, collecting garbage
HIDDEN_SECONDS = 0.0015  # of a turn that collecting garbage may take on one side more than on the other


def forged_alone(read_s: float, rest_s: float, turns: int) -> bool:
    """Sums over all turns of a case; an untimed call is no longer than the reading that it precedes."""
    return rest_s > 2 * read_s + FREE_SECONDS * turns


def forged_beside(read_s: float, rest_s: float, other_rest_s: float) -> bool:
    """Medians over the turns of one side, and the other side's."""
    return rest_s > other_rest_s + max(other_rest_s, HIDDEN_SECONDS) + read_s / 4


def forged_reason(who: str, read_s: float, rest_s: float) -> str:
    claimed, took = format_seconds(read_s), format_seconds(rest_s + read_s)
    return f"{who} read {claimed} where {took} passed here; leave time.perf_counter alone"
