"""Traces by jax's profiler: when each operator of a program ran in one call, and the times of stages."""

import gzip
import tempfile
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import jax

from harness.core.errors import Unsupported
from harness.worker.stage_recorder import StageSpan

OPERATOR = "hlo_op"  # statistic of an operator's event, on the cpu and GPUs (jax 0.10.2)


class OperatorRun(NamedTuple):
    """One run of an operator on a thread, in nanoseconds of the trace's clock."""

    start_ns: float
    end_ns: float
    operator: str


def trace_call(
    call: Callable[[], Any], sync: Callable[[Any], None], trace: Path | None = None
) -> tuple[float, list[OperatorRun]]:
    """Profile a call: (its seconds, the runs of its operators). Writes a trace to `trace`, if given.

    Raises Unsupported if the profiler reports no operators.
    """
    with tempfile.TemporaryDirectory() as folder:
        options = jax.profiler.ProfileOptions()
        options.python_tracer_level = 0  # do not trace Python functions
        jax.profiler.start_trace(folder, profiler_options=options)
        start = perf_counter()
        try:
            sync(call())
            seconds = perf_counter() - start
        finally:
            jax.profiler.stop_trace()
        runs = _runs(Path(folder))
        if not runs:
            raise Unsupported(
                "jax's profiler reports no operators here; run seqsweep static for planned figures"
            )
        if trace is not None:
            (file,) = Path(folder).glob("**/*.trace.json.gz")
            trace.write_bytes(gzip.decompress(file.read_bytes()))
    return seconds, runs


def _runs(folder: Path) -> list[OperatorRun]:
    (file,) = folder.glob("**/*.xplane.pb")
    data = jax.profiler.ProfileData.from_file(str(file))
    return [
        OperatorRun(event.start_ns, event.start_ns + event.duration_ns, operator)
        for plane in data.planes
        for line in plane.lines
        for event in line.events
        for statistic, operator in event.stats
        if statistic == OPERATOR
    ]


def times_by_stage(
    runs: Iterable[OperatorRun], stages: Mapping[str, str], containers: Collection[str]
) -> dict[str, StageSpan]:
    """Time of every stage. The sum is the time in which at least one operator ran.

    If several operators run at once, each gets an equal part of the time. Containers, for example loops, get
    time only if nothing else runs, and then only the innermost one. Operators without a stage get time only
    if no operator with a stage runs. Runs of zero duration are ignored.
    """
    ends = [
        (time, begins, run)
        for run in runs
        if run.end_ns > run.start_ns
        for time, begins in ((run.start_ns, True), (run.end_ns, False))
    ]
    ends.sort(key=lambda end: end[:2])
    seconds: dict[str, float] = defaultdict(float)
    overlapped: dict[str, float] = defaultdict(float)
    open_: list[OperatorRun] = []
    before = 0.0
    for time, begins, run in ends:
        if open_ and time > before:
            working = [each for each in open_ if each.operator not in containers]
            innermost = max(open_, key=lambda each: each.start_ns)
            active = [stages.get(each.operator, "") for each in working or [innermost]]
            active = [stage for stage in active if stage] or [""]
            passed = (time - before) / 1e9
            for stage in set(active):
                share = active.count(stage) / len(active)
                seconds[stage] += passed * share
                overlapped[stage] += passed * (1 - share)
        before = time
        open_.append(run) if begins else open_.remove(run)
    return {stage: StageSpan(took, None, overlapped[stage]) for stage, took in seconds.items()}


def busy_s(runs: Iterable[OperatorRun]) -> float:
    """Seconds in which at least one of the runs was active."""
    total, until = 0.0, float("-inf")
    for start, end, _ in sorted(runs):
        total += max(0.0, end - max(start, until))
        until = max(until, end)
    return total / 1e9
