"""Reading a clock around a call."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter  # bound at import, so that replacing time.perf_counter changes no reading
from typing import Any, TypeAlias

Keep: TypeAlias = Callable[[Any], None]
Read: TypeAlias = Callable[[Callable[[], Any], int, Keep | None], float]


def wall(sync: Callable[[Any], None]) -> Read:
    """Host wall clock; every call is synchronised, so that a reading is `inner` whole calls.

    A result is freed before the next call, as in a loop that does not look at it, unless `keep` takes it.
    """
    clock = perf_counter

    def read(call: Callable[[], Any], inner: int, keep: Keep | None = None) -> float:
        take = sync if keep is None else _sync_and_keep(sync, keep)
        start = clock()
        for _ in range(inner):
            take(call())
        return clock() - start

    return read


def host_marks() -> tuple[Callable[[], float], Callable[[float, float], float]]:
    """(mark, span) by the host's clock, where a part has been computed when its code has run."""
    return perf_counter, lambda start, end: end - start


def _sync_and_keep(sync: Callable[[Any], None], keep: Keep) -> Keep:
    def take(result: Any) -> None:
        sync(result)
        keep(result)

    return take
