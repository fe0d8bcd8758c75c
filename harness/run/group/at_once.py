"""Questions to several processes at once, each from a thread of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event


def exhaust_at_once(works: Sequence[Iterable[object]]) -> None:
    """Go through each in a thread. Where one fails, or at Ctrl-C, all end with the step at hand."""
    stopped = Event()

    def exhaust(work: Iterable[object]) -> None:
        try:
            for _ in work:
                if stopped.is_set():
                    break
        except BaseException:  # whatever ends this one ends the others, and is raised to the caller
            stopped.set()
            raise

    with ThreadPoolExecutor(len(works)) as pool:
        try:
            list(pool.map(exhaust, works))
        except BaseException:  # also Ctrl-C, which reaches this thread alone
            stopped.set()
            raise
