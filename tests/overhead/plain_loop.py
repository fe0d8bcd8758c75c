"""Plain loop: one case, called in a new process as a user's script would call it, to measure our overhead.

It shares only the implementation and its inputs with a measuring process: there is no fork server, memory
limit, parked process, disabled garbage collector or environment variable. What the harness measures beyond
this loop is its own overhead. `python -m tests.overhead.plain_loop QUESTION` takes its question as JSON, and
prints seconds per call as JSON.
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
    calls = plain_calls(question["framework"], built.function, named, threads)
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


def plain_calls(
    framework: str, function: Callable[..., Any], sets: Sequence[Mapping[str, Any]], threads: int
) -> Sequence[Callable[[], Any]]:
    """A forward call on each set of numpy arrays, as a user's script would make it on the cpu."""
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
