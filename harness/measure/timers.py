"""Reading a clock around a call."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def wall(sync: Callable[[Any], None]) -> Callable[[Callable[[], Any], int], float]:
    """Host wall clock; every call is synchronised, so that a reading is `inner` whole calls."""

    def read(call: Callable[[], Any], inner: int) -> float:
        start = time.perf_counter()
        for _ in range(inner):
            sync(call())
        return time.perf_counter() - start

    return read
