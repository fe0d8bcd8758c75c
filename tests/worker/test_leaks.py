"""Threads that an implementation left: busy ones are named, and a pool that waits is nobody's leak."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

from harness.worker import leaks


def test_a_busy_thread_is_named_and_an_idle_worker_of_a_pool_is_not():
    before, release = leaks.threads(), threading.Event()
    with ThreadPoolExecutor(1, thread_name_prefix="compiler") as pool:
        busy = pool.submit(release.wait)
        assert {name for ident, name in leaks.threads().items() if ident not in before} == {"compiler_0"}
        release.set()
        busy.result()
        deadline = time.monotonic() + 10
        while leaks.threads().keys() - before.keys() and time.monotonic() < deadline:
            time.sleep(0.001)  # between its task and its queue a worker is still on the way
        assert not leaks.threads().keys() - before.keys()
