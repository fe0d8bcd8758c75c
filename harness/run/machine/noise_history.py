"""Drift detection: whether a machine became slower while a unit was measured, by its earlier noise probes.

A probe's interval covers the noise within its second, not the drift between minutes. So a probe is compared
with a quantile of the machine's earlier ones, and a machine that is noisy but steady is not marked. Their
minimum would be no reference, because it falls further the more there are.
"""

from collections import deque
from dataclasses import dataclass, field

from harness.run.machine.noise_probe import NoiseProbe

REMEMBERED = 30  # probes, two per unit
LEAST = 6  # earlier probes that suffice for a quantile
USUAL = 0.9  # the quantile that a probe is compared with


@dataclass
class NoiseHistory:
    """The medians of a machine's last probes, without those around doubtful units."""

    medians_s: deque[float] = field(default_factory=lambda: deque[float](maxlen=REMEMBERED))

    def judge(self, before: NoiseProbe, after: NoiseProbe, bound: float | None) -> str | None:
        """Why the times between two probes are doubtful; None if they are not, or without a bound.

        They are doubtful if the slower probe's interval begins more than `bound`, a share, above the usual
        quantile or, with too few earlier probes, above the end of the faster one's interval. Load that was
        there from before the first pair of probes cannot be detected.
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
