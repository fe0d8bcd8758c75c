"""Device time of torch calls by CUDA events, with the L2 cache flushed before each call."""

from functools import cache
from time import perf_counter

import torch

from harness.worker.timers import Calls, Keep, Read, refuse_above_host


def cuda_events() -> Read:
    """Device time of calls, each between two events of its own and after a flush of the L2 cache."""
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
    """A buffer of twice the L2 cache, the process's only one: writing it evicts everything else."""
    size = torch.cuda.get_device_properties(torch.cuda.current_device()).L2_cache_size
    return torch.empty(2 * size, dtype=torch.int8, device="cuda")


def _event() -> torch.cuda.Event:
    return torch.cuda.Event(enable_timing=True)
