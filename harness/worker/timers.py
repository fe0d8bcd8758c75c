"""Timers: reading a clock around calls, and how long threads waited for a core meanwhile."""

# Not signal.pthread_sigmask, which converts 64 numbers to enumeration members and takes 60 µs.
from _signal import pthread_sigmask  # pyright: ignore[reportMissingImports]
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from signal import SIG_BLOCK, SIG_SETMASK, valid_signals
from time import perf_counter  # bound at import, so that replacing time.perf_counter changes no reading
from typing import Any, TypeAlias

from harness.core.units import format_seconds

SHORT_S = 0.25  # a first call shorter than this is repeated for a better estimate of a call's time
SETTLING_S = 0.025
LEAST_CALLS = 20
MOST_S = 0.25
TASKS = Path("/proc/self/task")

Keep: TypeAlias = Callable[[Any], None]
Calls: TypeAlias = Sequence[Callable[[], Any]]
Read: TypeAlias = Callable[[Calls, int, Keep | None], list[float]]


@dataclass(frozen=True)
class Timer:
    """How a framework times calls. `read(calls, inner, keep)` gives a reading of each call: seconds for
    `inner` of it, one after the other.

    `keep` gets every result of the first call; with None each result is freed before the next call.
    """

    method: str  # one of METHODS
    cache: str  # one of CACHES: how inputs are kept out of caches
    read: Read
    reason: str = ""  # why it is the host's clock, on a device that has one


def wall(sync: Callable[[Any], None]) -> Read:
    """Host wall clock; every call is synchronised, so that a reading is `inner` whole calls.

    The time of `keep` is not counted. Signals are blocked before it, so that no handler of an implementation
    can compute the result after the clock was read.
    """
    clock = perf_counter

    def read(calls: Calls, inner: int, keep: Keep | None = None) -> list[float]:
        kept = [] if keep is None else [read_and_keep(calls[0], inner, keep)]
        return kept + [read_one(call, inner) for call in calls[len(kept) :]]

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
            finally:  # a side's process of a gate continues with other cases
                pthread_sigmask(SIG_SETMASK, before)
            kept_s += clock() - begun
        return clock() - start - kept_s

    return read


def refuse_above_host(device_s: float, host_s: float) -> None:
    """RuntimeError where a device's clock has read more than has passed on the host around its calls."""
    if device_s > host_s:
        raise RuntimeError(
            f"the device's clock read {format_seconds(device_s)} for calls around which "
            f"{format_seconds(host_s)} passed on the host; look for what replaces the device's events"
        )


def repeat_short_call(call: Callable[[], float], first_s: float, clock: Callable[[], float]) -> float:
    """The least seconds of a call, repeated for SETTLING_S by `clock` if its first took less than SHORT_S.

    `call` returns its own seconds. There are at least LEAST_CALLS, also on a busy machine: the caller holds
    the first result meanwhile, and an implementation that returns a few buffers in rotation must come round
    to overwriting it. Only if that would take more than MOST_S there are fewer.
    """
    least_s, calls, end = first_s, 0, clock() + SETTLING_S
    while least_s < SHORT_S and (clock() < end or (calls < LEAST_CALLS and calls * least_s < MOST_S)):
        least_s, calls = min(least_s, call()), calls + 1
    return least_s


class RunQueue:
    """How long the threads of this process wait for a core, from its creation on.

    A barrier between threads makes a whole call wait for the one thread that is not running. All readings may
    then be slow alike, so that no spread shows it: beside one busy program a call of 0.5 ms took 8 ms each
    time.
    """

    def __init__(self) -> None:
        self.begun, self.before = perf_counter(), waited_seconds()

    def share(self) -> float | None:
        """Seconds that its threads were ready but not running, in units of the time since; None: unknown."""
        waited = waited_seconds()
        if self.before is None or waited is None:
            return None
        return max(0.0, waited - self.before) / (perf_counter() - self.begun)


def waited_seconds() -> float | None:
    """Seconds so far of all living threads; None where the kernel does not count them.

    It is the second number of schedstat, which the kernel keeps without CONFIG_SCHEDSTATS, too
    (Documentation/scheduler/sched-stats.rst).
    """
    waited_ns: list[int] = []
    for task in TASKS.iterdir() if TASKS.exists() else ():
        with suppress(OSError, ValueError, IndexError):  # a thread that ends meanwhile
            waited_ns.append(int((task / "schedstat").read_text().split()[1]))
    return sum(waited_ns) / 1e9 if waited_ns else None
