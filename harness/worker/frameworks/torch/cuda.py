"""Device time of torch calls by CUDA events after a flush of the L2 cache; CUDA graphs of calls."""

import gc
from collections.abc import Callable
from functools import cache
from time import perf_counter
from typing import Any

import torch

from harness.core.errors import Unsupported
from harness.worker.timers import Calls, Keep, Read, refuse_above_host

WARM_CALLS = 3  # libraries allocate handles and workspaces in them, which capture forbids
REMEDY = (
    "remove synchronisation (.item(), nonzero, copies to the host), allocation without torch and "
    "value-dependent shapes from the call"
)


def cuda_events() -> Read:
    """Device time of calls, each between its own two events and after a flush of the L2 cache."""
    flush = l2_buffer()

    def read(calls: Calls, inner: int, keep: Keep | None = None) -> list[float]:
        start = perf_counter()
        readings: list[list[tuple[torch.cuda.Event, torch.cuda.Event]]] = []
        for place, call in enumerate(calls):
            events = [(_event(), _event()) for _ in range(inner)]
            readings.append(events)
            for begin, end in events:
                flush.zero_()
                begin.record()
                result = call()
                end.record()
                if keep is not None and place == 0:
                    keep(result)
                del result
        torch.cuda.synchronize()
        host_s = perf_counter() - start
        seconds = [1e-3 * sum(begin.elapsed_time(end) for begin, end in events) for events in readings]
        refuse_above_host(sum(seconds), host_s)
        return seconds

    return read


@cache
def l2_buffer() -> torch.Tensor:
    """The process's only buffer of twice the L2 cache; writing it evicts everything else."""
    size = torch.cuda.get_device_properties(torch.cuda.current_device()).L2_cache_size
    return torch.empty(2 * size, dtype=torch.int8, device="cuda")


def _event() -> torch.cuda.Event:
    return torch.cuda.Event(enable_timing=True)


def capture(call: Callable[[], Any]) -> Callable[[], Any]:
    """Capture a call as a graph, and return a function that replays it into the same storage.

    Raises Unsupported, with CUDA's message, if the call cannot be captured.
    """
    gc.collect()  # memory of earlier calls must not be freed during the capture
    graph = torch.cuda.CUDAGraph()
    try:
        _warm_up(call)
        with torch.cuda.graph(graph):
            result = call()
    except Exception as error:  # an implementation can raise anything
        first = _first(error)
        message = str(first).partition("\n")[0].rstrip(".")
        text = f"the call cannot be captured as a CUDA graph ({type(first).__name__}: {message}); {REMEDY}"
        raise Unsupported(text) from error

    def replay() -> Any:
        graph.replay()
        return result

    return replay


def _warm_up(call: Callable[[], Any]) -> None:
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(WARM_CALLS):
            call()
    torch.cuda.current_stream().wait_stream(side)


def _first(error: BaseException) -> BaseException:
    """The first error of a failed capture; ending the capture raises another one without the cause."""
    while error.__context__ is not None:
        error = error.__context__
    return error
