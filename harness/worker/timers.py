"""Timers of calls, and the time that threads waited for a core meanwhile."""

# Not signal.pthread_sigmask, which converts 64 numbers to enumeration members and takes 60 µs.
from _signal import pthread_sigmask  # pyright: ignore[reportMissingImports]
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from signal import SIG_BLOCK, SIG_SETMASK, valid_signals
from time import perf_counter  # bound at import, so that replacing time.perf_counter has no effect
from typing import Any, TypeAlias

from harness.core.units import format_seconds

SHORT_S = 0.25  # shorter first calls are repeated for a better estimate
SETTLING_S = 0.025
LEAST_CALLS = 20
MOST_S = 0.25
TASKS = Path("/proc/self/task")

Keep: TypeAlias = Callable[[Any], None]
Calls: TypeAlias = Sequence[Callable[[], Any]]
Read: TypeAlias = Callable[[Calls, int, Keep | None], list[float]]


@dataclass(frozen=True)
class Timer:
    """A framework's timing method. `read(calls, inner, keep)` returns a sample of each call: seconds for
    `inner` consecutive calls.

    `keep` receives every result of the first call; without it, results are freed before the next call.
    """

    method: str  # one of METHODS
    cache: str  # one of CACHES: how inputs are evicted from caches
    read: Read
    reason: str = ""  # why a device's calls are timed by the host


def wall(sync: Callable[[Any], None]) -> Read:
    """Host wall clock; every call is synchronised, so a sample covers `inner` complete calls.

    The time of `keep` does not count. Signals are blocked during it, so that an implementation's handler
    cannot compute the result after the clock was read.
    """
    clock = perf_counter

    def read(calls: Calls, inner: int, keep: Keep | None = None) -> list[float]:
        samples = [] if keep is None else [read_and_keep(calls[0], inner, keep)]
        return samples + [read_one(call, inner) for call in calls[len(samples) :]]

    def read_one(call: Callable[[], Any], inner: int) -> float:
        start = clock()
        for _ in range(inner):
            sync(call())
        return clock() - start

    def read_and_keep(call: Callable[[], Any], inner: int, keep: Keep) -> float:
        signals, kept_s = valid_signals(), 0.0
        start = clock()
        for _ in range(inner):
            result = call()
            sync(result)
            before = pthread_sigmask(SIG_BLOCK, signals)
            begun = clock()
            try:
                keep(result)
            finally:  # a gate's worker continues with other cases
                pthread_sigmask(SIG_SETMASK, before)
            kept_s += clock() - begun
        return clock() - start - kept_s

    return read


def refuse_above_host(device_s: float, host_s: float) -> None:
    """Raise RuntimeError if the device's clock reports more time than the host's clock around the calls."""
    if device_s > host_s:
        raise RuntimeError(
            f"the device's clock reports {format_seconds(device_s)} for calls that took "
            f"{format_seconds(host_s)} on the host; check for code that replaces the device's events"
        )


def repeat_short_call(call: Callable[[], float], first_s: float, clock: Callable[[], float]) -> float:
    """Minimum seconds of a call; repeat it for SETTLING_S by `clock` if the first took less than SHORT_S.

    `call` returns its own seconds. It is repeated at least LEAST_CALLS times unless that takes more than
    MOST_S. The caller compares the first result later: an implementation that returns a few buffers in
    rotation must have overwritten it by then.
    """
    least_s, calls, end = first_s, 0, clock() + SETTLING_S
    while least_s < SHORT_S and (clock() < end or (calls < LEAST_CALLS and calls * least_s < MOST_S)):
        least_s, calls = min(least_s, call()), calls + 1
    return least_s


class RunQueue:
    """Time that the threads of this process wait for a core, starting when the object is created.

    At a barrier, all threads of a call wait for the one that is not running. All samples may then be equally
    slow, without any spread: next to one busy program, every call of 0.5 ms took 8 ms.
    """

    def __init__(self) -> None:
        self.begun, self.before = perf_counter(), waited_seconds()

    def share(self) -> float | None:
        """Time that threads were ready but not running, over the elapsed time; None if unknown."""
        waited = waited_seconds()
        if self.before is None or waited is None:
            return None
        return max(0.0, waited - self.before) / (perf_counter() - self.begun)


def waited_seconds() -> float | None:
    """Total seconds that all live threads have waited; None if the kernel does not count them.

    This is the second number of schedstat, which also exists without CONFIG_SCHEDSTATS
    (Documentation/scheduler/sched-stats.rst).
    """
    waited_ns: list[int] = []
    for task in TASKS.iterdir() if TASKS.exists() else ():
        with suppress(OSError, ValueError, IndexError):  # a thread that has just ended
            waited_ns.append(int((task / "schedstat").read_text().split()[1]))
    return sum(waited_ns) / 1e9 if waited_ns else None
