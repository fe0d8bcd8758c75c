"""Detection of readings that the runner's own clock contradicts: an implementation may forge its clock.

The runner measures how long a whole turn took: `read_s` in readings and `rest_s` beside them, which is
messages, waking, collecting garbage and, in a run, an untimed call. There are three rules. No reading is
longer than the turn that it is a part of. A case alone has no comparison: one reading of AUDIT_SECONDS or
more and nothing else is all but the whole of its turn, so that a seventh as much again is too much. It must
be so every time, for a machine's other work makes a turn longer, too, and of ever longer readings, beside
which that weighs less: where ten programs wait for a core, a quarter of a second is not enough. In a gate the
other side's rest, in the same turns, shows what a rest may be, so an excess of a quarter of the readings is
already too much.
"""

from collections.abc import Sequence
from typing import NamedTuple

from harness.core.units import format_seconds

HIDDEN_SECONDS = 0.0015  # per turn, by which collecting garbage may differ between the sides
AUDIT_SECONDS = 0.06  # of a reading that is compared alone
LONGER_AUDIT_SECONDS = 0.25  # of the next, if that does not agree, and of each further one twice that
AUDITS = 5  # at most, until one agrees
FORGED = 1.15  # times what was read, and
FORGED_SECONDS = 0.005  # messages and waking
EARLY = 1.02  # times what passed here: no reading is longer, but for rounding


class Turn(NamedTuple):
    """Seconds that a turn read, and that passed here meanwhile."""

    read_s: float
    wall_s: float

    @property
    def agrees(self) -> bool:
        return self.wall_s <= FORGED * self.read_s + FORGED_SECONDS

    @property
    def is_too_long(self) -> bool:
        return self.read_s > EARLY * self.wall_s


def forged_always(turns: Sequence[Turn]) -> bool:
    """From turns of one long reading each, with nothing beside it."""
    return bool(turns) and not any(turn.agrees for turn in turns)


def forged_beside(read_s: float, rest_s: float, other_rest_s: float) -> bool:
    """From medians over the turns of one side, and of the other side's rest."""
    return rest_s > other_rest_s + max(other_rest_s, HIDDEN_SECONDS) + read_s / 4


def forged_reason(who: str, read_s: float, rest_s: float) -> str:
    claimed, took = format_seconds(read_s), format_seconds(rest_s + read_s)
    return f"{who} read {claimed} where {took} passed here; leave time.perf_counter alone"
