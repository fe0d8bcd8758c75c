"""Plain loop: one case, called in a new process as a user's script would call it, to measure our overhead.

It shares only the implementation, its inputs and its framework's room with a measuring process: there is no
fork server, memory limit, parked process, disabled garbage collector or environment variable. What the
harness measures beyond this loop is its own overhead. `python -m harness.worker.plain_loop` takes its
question as JSON on stdin and prints seconds per call as JSON.
"""

import json
import os
import statistics
import sys
from collections.abc import Mapping
from time import perf_counter
from typing import Any

import numpy as np

from harness.catalog import loading
from harness.catalog.build import build
from harness.catalog.child_process import own_stdout
from harness.core.case import Case
from harness.worker.captured_inputs import draw_inputs
from harness.worker.frameworks import base as frameworks

WARM_CALLS = 3
SETS = 2  # of inputs, in turns, as the harness rotates them
LEAST_CALLS = 5


def time_calls(question: Mapping[str, Any]) -> dict[str, Any]:
    """Seconds of every call for `seconds` of wall time, after `WARM_CALLS` untimed ones."""
    case = Case.of(**question["case"])
    threads: int = question["threads"]
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    built = build(loading.load(question["module"]), case)
    drawn = [
        draw_inputs(built.family, built.workload, np.random.default_rng([question["seed"], n]))
        for n in range(SETS)
    ]
    named = [{name: inputs[name] for name in built.names} for inputs in drawn]
    calls = frameworks.get(question["framework"]).plain_calls(built.function, named, threads)
    for count in range(WARM_CALLS):
        calls[count % SETS]()
    samples: list[float] = []
    until = perf_counter() + question["seconds"]
    while len(samples) < LEAST_CALLS or perf_counter() < until:
        call = calls[len(samples) % SETS]
        start = perf_counter()
        call()
        samples.append(perf_counter() - start)
    return {"median_s": statistics.median(samples), "calls": len(samples)}


if __name__ == "__main__":
    out = own_stdout()
    json.dump(time_calls(json.load(sys.stdin)), out)
    out.close()
