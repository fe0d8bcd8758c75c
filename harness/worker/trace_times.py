"""Times of a call by stage, from the intervals in which its operators ran."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple


class OperatorRun(NamedTuple):
    """One run of an operator on a thread, in nanoseconds of the trace's clock."""

    start_ns: float
    end_ns: float
    operator: str


class SharedTime(NamedTuple):
    """Seconds of a stage, and further ones in which it ran in parallel to stages that were given the time."""

    seconds: float
    beside: float


def times_by_stage(
    runs: Iterable[OperatorRun], stages: Mapping[str, str], containers: Collection[str]
) -> dict[str, SharedTime]:
    """The time of every stage; together they add up to the time in which anything ran.

    Where several operators run at once, each gets an equal part of the time. Containers, such as loops, get
    time only where nothing else runs, and then the innermost one. Operators without a stage get time only
    where no operator with a stage runs. A run that ends when it begins, by the trace's clock, takes none.
    """
    ends = [
        (time, begins, run)
        for run in runs
        if run.end_ns > run.start_ns
        for time, begins in ((run.start_ns, True), (run.end_ns, False))
    ]
    ends.sort(key=lambda end: end[:2])
    seconds: dict[str, float] = defaultdict(float)
    beside: dict[str, float] = defaultdict(float)
    open_: list[OperatorRun] = []
    before = 0.0
    for time, begins, run in ends:
        if open_ and time > before:
            working = [each for each in open_ if each.operator not in containers]
            innermost = max(open_, key=lambda each: each.start_ns)
            named = [stages.get(each.operator, "") for each in working or [innermost]]
            named = [stage for stage in named if stage] or [""]
            passed = (time - before) / 1e9
            for stage in set(named):
                part = passed * named.count(stage) / len(named)
                seconds[stage] += part
                beside[stage] += passed - part
        before = time
        open_.append(run) if begins else open_.remove(run)
    return {stage: SharedTime(took, beside[stage]) for stage, took in seconds.items()}


def busy_s(runs: Iterable[OperatorRun]) -> float:
    """Seconds in which at least one of the runs was going on."""
    total, until = 0.0, float("-inf")
    for start, end, _ in sorted(runs):
        total += max(0.0, end - max(start, until))
        until = max(until, end)
    return total / 1e9
