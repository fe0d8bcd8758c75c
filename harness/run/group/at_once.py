"""Requests to several processes concurrently, each from a thread of its own."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from threading import Event


def exhaust_in_threads(
    works: Sequence[Iterable[object]], end_steps: Callable[[], None] = lambda: None
) -> None:
    """Consume each iterable in a thread. After an error or Ctrl-C, all stop after their current step.

    `end_steps` is called then. It may make the current steps fail, so that a long one is not waited for.
    """
    stopped = Event()

    def exhaust(work: Iterable[object]) -> None:
        for _ in work:
            if stopped.is_set():
                break

    with ThreadPoolExecutor(max(1, len(works))) as pool:
        threads = [pool.submit(exhaust, work) for work in works]
        try:
            wait(threads, return_when=FIRST_EXCEPTION)
        finally:  # also at Ctrl-C, which only the main thread sees
            stopped.set()
            if not all(thread.done() for thread in threads):
                end_steps()
    for thread in threads:
        thread.result()
