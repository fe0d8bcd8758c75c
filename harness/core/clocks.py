"""The methods by which calls are timed, and the clock of each.

Two times are compared only if they are of the same clock.
"""

from typing import NamedTuple


class Method(NamedTuple):
    """A method of timing a call: the `clock` that it reads, and its displayed name."""

    clock: str
    name: str


# `device`: from a call's start on the device to the end of its last kernel or copy, after a flush of L2.
# `replay`: the same interval for a captured call that is launched as one CUDA graph.
METHODS = {
    "wall": Method("host", "wall clock"),
    "cuda_events": Method("device", "CUDA events"),
    "cupti": Method("device", "device events of the profiler (CUPTI)"),
    "cuda_graph": Method("replay", "CUDA events around replays of a graph"),
}


def clock_of(method: str) -> str:
    """The clock that a method reads: `host`, `device` or `replay`."""
    return METHODS[method].clock


def is_one_clock(*methods: str) -> bool:
    """Whether times by all of these methods may be compared."""
    return len(set(map(clock_of, methods))) <= 1
