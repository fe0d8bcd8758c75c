"""A plain loop: one case, called in a fresh process as a user's script would call it.

It shares nothing with a measuring process but the implementation and its inputs: no fork server, no limit of
memory, no neighbour that is stopped, no frozen garbage collector, no variable set. What the harness reads
beyond this loop is the harness. `python -m harness.worker.plain_loop` takes its question as JSON on stdin and
prints seconds per call as JSON.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any

import ml_dtypes
import numpy as np

from harness.catalog import loading
from harness.catalog.build import build
from harness.catalog.child_process import own_stdout
from harness.core.case import Case

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
        built.family.inputs(built.workload, np.random.default_rng([question["seed"], n])) for n in range(SETS)
    ]
    named = [{name: inputs[name] for name in built.names} for inputs in drawn]
    calls = CALLS[question["framework"]](built.function, named, threads)
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


Function = Callable[..., Any]
Calls = list[Callable[[], Any]]


def _numpy_calls(function: Function, sets: list[dict[str, Any]], threads: int) -> Calls:
    from harness.worker.frameworks.numpy.framework import limit_blas

    limit_blas(threads)
    return [lambda named=named: function(**named) for named in sets]


def _torch_calls(function: Function, sets: list[dict[str, Any]], threads: int) -> Calls:
    import torch

    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)

    def tensor(array: np.ndarray[Any, Any]) -> torch.Tensor:
        if array.dtype == ml_dtypes.bfloat16:
            return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
        return torch.from_numpy(array)

    tensors = [{name: tensor(np.array(value)) for name, value in named.items()} for named in sets]
    return [lambda named=named: function(**named) for named in tensors]


def _jax_calls(function: Function, sets: list[dict[str, Any]], _: int) -> Calls:
    import jax

    compiled = jax.jit(function)
    arrays = [{name: jax.device_put(value) for name, value in named.items()} for named in sets]
    return [lambda named=named: jax.block_until_ready(compiled(**named)) for named in arrays]


CALLS = {"numpy": _numpy_calls, "torch": _torch_calls, "jax": _jax_calls}


if __name__ == "__main__":
    out = own_stdout()
    json.dump(time_calls(json.load(sys.stdin)), out)
    out.close()
