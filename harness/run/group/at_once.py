"""Questions to several processes at once, each from a thread of its own."""

from collections.abc import Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from threading import Event


def exhaust_at_once(works: Sequence[Iterable[object]]) -> None:
    """Go through each in a thread. Where one fails, or at Ctrl-C, all end with the step at hand."""
    stopped = Event()

    def exhaust(work: Iterable[object]) -> None:
        for _ in work:
            if stopped.is_set():
                break

    with ThreadPoolExecutor(len(works)) as pool:
        threads = [pool.submit(exhaust, work) for work in works]
        try:
            wait(threads, return_when=FIRST_EXCEPTION)
        finally:  # also at Ctrl-C, which reaches this thread alone
            stopped.set()
    for thread in threads:
        thread.result()
