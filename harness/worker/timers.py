"""Reading a clock around a call."""

# signal's own makes enumeration members of 64 numbers, which takes 60 µs.
from _signal import pthread_sigmask  # pyright: ignore[reportMissingImports]
from collections.abc import Callable
from signal import SIG_BLOCK, SIG_SETMASK, valid_signals
from time import perf_counter  # bound at import, so that replacing time.perf_counter changes no reading
from typing import Any, TypeAlias

SHORT_S = 0.25  # a first call shorter than this is repeated for a better estimate of a call's time
SETTLING_S = 0.025
LEAST_CALLS = 20
MOST_S = 0.25

Keep: TypeAlias = Callable[[Any], None]
Read: TypeAlias = Callable[[Callable[[], Any], int, Keep | None], float]


def wall(sync: Callable[[Any], None]) -> Read:
    """Host wall clock; every call is synchronised, so that a reading is `inner` whole calls.

    A result is freed before the next call, as in a loop that does not look at it, unless `keep` takes it.
    What `keep` does is not counted, and comes first once a call is over: no signal's handler is before it.
    """
    clock = perf_counter

    def read(call: Callable[[], Any], inner: int, keep: Keep | None = None) -> float:
        if keep is not None:
            return read_and_keep(call, inner, keep)
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
            finally:  # a process of a gate goes on with other cases
                pthread_sigmask(SIG_SETMASK, before)
            kept_s += clock() - begun
        return clock() - start - kept_s

    return read


def repeat_short_call(call: Callable[[], float], first_s: float, clock: Callable[[], float]) -> float:
    """The least seconds of a call, repeated for SETTLING_S by `clock` where its first took less than SHORT_S.

    `call` returns its own seconds. It is repeated LEAST_CALLS times however long that takes by the clock: a
    caller holds the first answer meanwhile, so that buffers which are used in turns come round on a busy
    machine as they do on an idle one. Only calls that need more than MOST_S for that are fewer.
    """
    least_s, calls, end = first_s, 0, clock() + SETTLING_S
    while least_s < SHORT_S and (clock() < end or (calls < LEAST_CALLS and calls * least_s < MOST_S)):
        least_s, calls = min(least_s, call()), calls + 1
    return least_s


def host_marks() -> tuple[Callable[[], float], Callable[[float, float], float]]:
    """(mark, span) by the host's clock, where a part has been computed when its code has run."""
    return perf_counter, lambda start, end: end - start
