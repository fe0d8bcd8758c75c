"""What an implementation left: busy threads and processes are named, a pool that waits is nobody's leak."""

import os
import shutil
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

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


def test_a_name_that_is_no_text_is_shown_without_what_is_none(tmp_path):
    """Else the answer could not be stored, and a case that has been measured would be lost for it."""
    odd = os.path.join(os.fsencode(tmp_path), b"id\xffle")  # noqa: PTH118 - pathlib takes no bytes
    shutil.copy(shutil.which("sleep"), odd)
    release = threading.Event()
    thread = threading.Thread(target=release.wait, name="id\udcffle")
    thread.start()
    with subprocess.Popen([odd, b"60"]) as process:
        try:
            assert leaks.processes([process.pid]) == [f"idle ({process.pid})"]
            assert leaks.threads()[thread.ident] == "idle"
        finally:
            process.kill()
            release.set()
            thread.join()


def test_processes_of_others_may_be_hidden(monkeypatch):
    """As with hidepid=1, where a scan of /proc is refused."""

    def refuse():
        raise psutil.AccessDenied(1)

    monkeypatch.setattr(psutil, "_ppid_map", refuse)
    with subprocess.Popen(["sleep", "60"]) as process:
        try:
            with pytest.raises(psutil.AccessDenied):
                psutil.Process().children()
            assert process.pid in leaks.descendants()
            assert leaks.processes([process.pid]) == [f"sleep ({process.pid})"]
        finally:
            process.kill()
