import signal
import time

import pytest

from harness.worker import timers


def test_a_reading_is_so_many_synchronised_calls():
    done = []
    read = timers.wall(lambda result: done.append(("sync", result)))

    def call():
        done.append("call")
        return len(done)

    assert read(call, 3) > 0
    assert done == ["call", ("sync", 1), "call", ("sync", 3), "call", ("sync", 5)]


def test_replacing_times_own_clock_changes_no_reading(monkeypatch):
    monkeypatch.setattr(time, "perf_counter", lambda: 0.0)
    assert timers.wall(lambda _: None)(lambda: sum(range(1000)), 1) > 0


def test_a_reading_lasts_as_long_as_the_call():
    def call():
        end = time.perf_counter() + 0.01
        while time.perf_counter() < end:
            pass

    assert timers.wall(lambda _: None)(call, 2) >= 0.02


def test_signals_wait_for_what_keeps_a_result_and_for_nothing_after():
    def blocked():
        return signal.pthread_sigmask(signal.SIG_BLOCK, [])

    def keep(_):
        assert signal.SIGALRM in blocked()
        raise TypeError("no array")

    before = blocked()
    with pytest.raises(TypeError, match="no array"):
        timers.wall(lambda _: None)(lambda: None, 1, keep)
    assert blocked() == before
