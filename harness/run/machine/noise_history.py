"""Whether a machine moved while a unit was measured, judged by what its own probes usually are like.

A probe's interval knows the noise within its second, and nothing of the drift from one minute to the next. So
probes are held against earlier ones of the machine, and a noisy but steady one is not marked. The quietest of
all would be no reference: the smallest of many is the farther from the others, the more there are.
"""

from collections import deque
from dataclasses import dataclass, field

from harness.run.machine.noise_probe import NoiseProbe

REMEMBERED = 30  # probes: half as many units
LEAST = 6  # earlier ones that show what is usual
USUAL = 0.9  # of them stay below what is called usual


@dataclass
class NoiseHistory:
    """The medians of a machine's last probes, but for those around doubtful units: a neighbour stays one."""

    medians_s: deque[float] = field(default_factory=lambda: deque[float](maxlen=REMEMBERED))

    def judge(self, before: NoiseProbe, after: NoiseProbe, bound: float | None) -> str | None:
        """Why the times between two probes are doubtful, if they are; without a bound they never are.

        The slower probe's interval begins by more than `bound`, a share, above what is usual; while little is
        known of the machine, above the end of the quicker one's. What a first pair has in common, as a
        neighbour that was there before, nobody sees.
        """
        quicker, slower = sorted((before, after), key=lambda probe: probe.interval_s[1])
        end_s, whose = quicker.interval_s[2], "the other one's end"
        if len(self.medians_s) >= LEAST:
            end_s = sorted(self.medians_s)[int(USUAL * len(self.medians_s))]
            whose = f"{USUAL:.0%} of its earlier ones"
        moved = slower.interval_s[1] / end_s - 1
        if bound is not None and moved > bound:
            return (
                f"its noise probe moved: the median's interval begins {moved:.0%} above {whose}, "
                f"and {bound:.0%} is the bound"
            )
        self.medians_s += (before.interval_s[0], after.interval_s[0])
        return None
