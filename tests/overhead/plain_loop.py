"""Plain loop over one case in a new process, like a user's script, to measure the harness's overhead.

It shares only the implementation and its inputs with a worker process. It has no fork server, memory limit,
suspended process, disabled garbage collector or environment variable. The additional time in the harness is
its overhead. `python -m tests.overhead.plain_loop REQUEST` takes JSON, and prints seconds per call as JSON.
"""

import json
import os
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
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
SETS = 2  # input sets in rotation, like in the harness
LEAST_CALLS = 5


def time_calls(request: Mapping[str, Any]) -> dict[str, Any]:
    """Median seconds of the calls in `seconds` of wall time, after `WARM_CALLS` untimed calls."""
    case = Case.of(**request["case"])
    threads: int = request["threads"]
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    built = build(loading.load(request["module"]), case)
    drawn = [
        draw_inputs(built.family, built.workload, np.random.default_rng([request["seed"], n]))
        for n in range(SETS)
    ]
    named = [{name: inputs[name] for name in built.names} for inputs in drawn]
    calls = plain_calls(request["framework"], built.function, named, threads)
    for count in range(WARM_CALLS):
        calls[count % SETS]()
    samples: list[float] = []
    until = perf_counter() + request["seconds"]
    while len(samples) < LEAST_CALLS or perf_counter() < until:
        call = calls[len(samples) % SETS]
        start = perf_counter()
        call()
        samples.append(perf_counter() - start)
    return {"median_s": statistics.median(samples), "calls": len(samples)}


def plain_calls(
    framework: str, function: Callable[..., Any], sets: Sequence[Mapping[str, Any]], threads: int
) -> Sequence[Callable[[], Any]]:
    """A forward call on each set of numpy arrays, like in a user's script on the cpu."""
    if framework == "torch":
        import torch

        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)
        tensors = [{name: torch.from_numpy(array) for name, array in named.items()} for named in sets]
        return [lambda named=named: function(**named) for named in tensors]
    if framework == "jax":
        import jax

        compiled = jax.jit(function)
        arrays = [{name: jax.device_put(array) for name, array in named.items()} for named in sets]
        return [lambda named=named: jax.block_until_ready(compiled(**named)) for named in arrays]
    frameworks.get(framework).start("cpu", threads, wide=False)
    return [lambda named=named: function(**named) for named in sets]


if __name__ == "__main__":
    out = own_stdout()
    json.dump(time_calls(json.loads(sys.argv[1])), out)
    out.close()
