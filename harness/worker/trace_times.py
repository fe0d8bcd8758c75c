"""The time of a call by stage, from the intervals in which its operators ran."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from harness.core.stage import JOINED


class OperatorRun(NamedTuple):
    """One run of an operator, in nanoseconds of the trace's clock."""

    start_ns: float
    end_ns: float
    operator: str


def times_by_stage(
    runs: Iterable[OperatorRun], stages: Mapping[str, str], containers: Collection[str]
) -> dict[str, float]:
    """Seconds by stage: every instant is one stage's, or several joined ones' that run at once.

    An instant belongs to the operators that run then; to the innermost container, such as a loop, where
    only containers do. An operator of no stage leaves the instant to those that have one.
    """
    ends = [
        (time, begins, run) for run in runs for time, begins in ((run.start_ns, True), (run.end_ns, False))
    ]
    ends.sort(key=lambda end: end[:2])
    seconds: dict[str, float] = {}
    open_: list[OperatorRun] = []
    before = 0.0
    for time, begins, run in ends:
        if open_ and time > before:
            working = [each for each in open_ if each.operator not in containers]
            innermost = max(open_, key=lambda each: each.start_ns)
            names = {stages.get(each.operator, "") for each in working or [innermost]} - {""}
            stage = JOINED.join(sorted({part for name in names for part in name.split(JOINED)}))
            seconds[stage] = seconds.get(stage, 0.0) + (time - before) / 1e9
        before = time
        open_.append(run) if begins else open_.remove(run)
    return seconds


def busy_s(runs: Iterable[OperatorRun]) -> float:
    """Seconds in which at least one of the runs was going on."""
    total, until = 0.0, float("-inf")
    for start, end, _ in sorted(runs):
        total += max(0.0, end - max(start, until))
        until = max(until, end)
    return total / 1e9
