"""Reading a clock around a call."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter  # bound at import, so that replacing time.perf_counter changes no reading
from typing import Any


def wall(sync: Callable[[Any], None]) -> Callable[[Callable[[], Any], int], float]:
    """Host wall clock; every call is synchronised, so that a reading is `inner` whole calls."""
    clock = perf_counter

    def read(call: Callable[[], Any], inner: int) -> float:
        start = clock()
        for _ in range(inner):
            sync(call())
        return clock() - start

    return read
