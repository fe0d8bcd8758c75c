"""A trace of jax's profiler: when each operator of a compiled program ran in one call."""

import gzip
import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from time import perf_counter
from typing import Any

import jax

from harness.core.errors import Unsupported
from harness.worker.trace_times import OperatorRun

OPERATOR = "hlo_op"  # the statistic of an operator's event, on the cpu and on GPUs (jax 0.10.2)


def trace_call(
    call: Callable[[], Any],
    sync: Callable[[Any], None],
    stages: Mapping[str, str] | None = None,
    trace: Path | None = None,
) -> tuple[float, list[OperatorRun]]:
    """(the call's seconds, the runs of its operators). The profiler's trace is written to `trace`, if given.

    In it each operator's stage follows its name. Unsupported where the profiler names no operator.
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
                "jax's profiler names no operator here; its planned figures are in seqsweep static"
            )
        if trace is not None:
            trace.write_bytes(_with_stages(Path(folder), stages or {}))
    return seconds, runs


def _with_stages(folder: Path, stages: Mapping[str, str]) -> bytes:
    """Chrome's form of the trace, `dot.3` renamed to `dot.3 (selected/mask)`."""
    (file,) = folder.glob("**/*.trace.json.gz")
    data = json.loads(gzip.decompress(file.read_bytes()))
    for event in data["traceEvents"]:
        if stage := stages.get(event.get("args", {}).get(OPERATOR, "")):
            event["name"] += f" ({stage})"
    return json.dumps(data).encode()


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
