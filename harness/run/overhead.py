"""The overhead of a run, by activity, and the estimate of its remaining time."""

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from harness.run.group.run_context import RunContext
from harness.sweep.schedule import Group

WORK = ("compile", "warmup", "contract", "samples")
PER_CASE = "startup_per_case_s"


class RemainingTime:
    """The remaining time, estimated from earlier runs' wall times and the groups of this run."""

    def __init__(self, groups: Sequence[Group], known_s: Mapping[str, float]) -> None:
        self.expected = [_before(group, known_s) for group in groups]
        self.measured: list[float] = []

    def took(self, seconds: float) -> None:
        """Record the wall seconds of the next group of the list."""
        self.measured.append(seconds)

    def remaining(self) -> float | None:
        """Seconds for the groups that have not been measured; None while nothing is known."""
        group_s = [*self.measured, *(seconds for seconds in self.expected if seconds is not None)]
        if not group_s:
            return None
        typical = statistics.fmean(group_s)
        return sum(typical if e is None else e for e in self.expected[len(self.measured) :])


def _before(group: Group, known_s: Mapping[str, float]) -> float | None:
    """Seconds of a group in earlier runs; unknown cases count as the mean of the known ones."""
    known_wall_s = [known_s[case.id] for case in group.cases if case.id in known_s]
    return sum(known_wall_s) * len(group.cases) / len(known_wall_s) if known_wall_s else None


def overhead(context: RunContext, wall_s: float) -> dict[str, Any]:
    """The wall time by activity: compiling, verifying, sampling, and the rest."""
    spent = {f"{name}_s": round(max(0.0, seconds), 3) for name, seconds in sorted(context.spent.items())}
    spent["other_s"] = round(max(0.0, wall_s - sum(spent.values())), 3)
    startups = context.startups_s
    per_case = {PER_CASE: statistics.median(startups) if startups else None}
    return totals(wall_s, spent) | per_case


def add_overheads(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """The overhead of a resumed run: seconds add up; the startup per case is the latest known one."""
    total: dict[str, float] = defaultdict(float)
    for spent in (before, now):
        for name, seconds in spent.items():
            if name.endswith("_s") and name not in {PER_CASE, "work_s"}:
                total[name] += seconds or 0.0
    per_case = {PER_CASE: now.get(PER_CASE) or before.get(PER_CASE)}
    return totals(total.pop("wall_s", 0.0), total) | per_case


def totals(wall_s: float, spent: Mapping[str, float]) -> dict[str, Any]:
    """The wall seconds of a run, how much of them was work, and what they were spent on."""
    work_s = sum(spent.get(f"{name}_s", 0.0) for name in WORK)
    return {
        "wall_s": round(wall_s, 3),
        "work_s": round(work_s, 3),
        "share": work_s / wall_s if wall_s > 0 else None,
        **{name: round(seconds, 3) for name, seconds in spent.items()},
    }
