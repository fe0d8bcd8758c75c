"""Detection of forged clocks: readings that the runner's own clock contradicts.

An implementation runs in the process that reads the clock, and may replace it. The runner times whole turns:
`read_s` is the time in readings and `rest_s` the rest: messages, waking up, garbage collection and, in a run,
an untimed call. There are three rules:

1. No reading is longer than its turn, whichever clock is read.
2. A case alone is audited: a turn of one reading of at least AUDIT_SECONDS has almost no rest, so one that is
   longer by the factor FORGED is suspicious. Other load lengthens turns too, so the clock counts as forged
   only if all of several ever longer readings disagree: with ten programs per core, 0.25 s are not enough.
3. In a gate the other side's rest in the same turns is the comparison, so that an excess of a quarter of the
   readings is enough.
"""

from collections.abc import Sequence
from typing import NamedTuple

from harness.core.units import format_seconds

HIDDEN_SECONDS = 0.0015  # per turn, by which garbage collection may differ between the sides
AUDIT_SECONDS = 0.06  # length of the first audited reading
LONGER_AUDIT_SECONDS = 0.25  # of the second one, if the first disagrees; each further one is twice as long
AUDITS = 5  # at most, until one agrees
FORGED = 1.15  # a turn may take so many times what was read,
FORGED_SECONDS = 0.005  # and so much more for messages and waking up
HOST_CLOCK, DEVICE_CLOCK = "time.perf_counter", "the device's events"
EARLY = 1.02  # a reading may be so many times its turn: rounding


class Turn(NamedTuple):
    """Seconds that a turn read, and that it took by the runner's clock."""

    read_s: float
    wall_s: float

    @property
    def agrees(self) -> bool:
        return self.wall_s <= FORGED * self.read_s + FORGED_SECONDS

    @property
    def is_too_long(self) -> bool:
        return self.read_s > EARLY * self.wall_s


def is_forged(turns: Sequence[Turn]) -> bool:
    """Whether all of these turns, of one long reading each, disagree with the runner's clock."""
    return bool(turns) and not any(turn.agrees for turn in turns)


def is_forged_beside(read_s: float, rest_s: float, other_rest_s: float) -> bool:
    """Whether a side's clock is forged, by medians over its turns and over those of the other side."""
    return rest_s > other_rest_s + max(other_rest_s, HIDDEN_SECONDS) + read_s / 4


def forged_reason(who: str, read_s: float, rest_s: float, clock: str = HOST_CLOCK) -> str:
    claimed, took = format_seconds(read_s), format_seconds(rest_s + read_s)
    return f"{who} read {claimed} where {took} passed here; leave {clock} alone"
