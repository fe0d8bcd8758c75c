import itertools
import signal

import pytest

from harness.worker import timers


def test_a_sample_covers_inner_synchronised_calls():
    done = []
    read = timers.wall(lambda result: done.append(("sync", result)))

    def call():
        done.append("call")
        return len(done)

    assert sum(read([call], 3, None)) > 0
    assert done == ["call", ("sync", 1), "call", ("sync", 3), "call", ("sync", 5)]


def test_signals_are_blocked_only_while_a_result_is_stored():
    def blocked():
        return signal.pthread_sigmask(signal.SIG_BLOCK, [])

    def keep(_):
        assert signal.SIGALRM in blocked()
        raise TypeError("no array")

    before = blocked()
    with pytest.raises(TypeError, match="no array"):
        timers.wall(lambda _: None)([lambda: None], 1, keep)
    assert blocked() == before


def test_each_call_has_a_sample_and_only_results_of_the_first_are_stored():
    kept, done = [], []
    read = timers.wall(lambda _: None)
    calls = [lambda name=name: done.append(name) or name for name in "ab"]
    assert len(read([*calls, calls[0]], 2, kept.append)) == 3
    assert ("".join(done), kept) == ("aabbaa", ["a", "a"])


def test_device_time_above_host_time_is_refused():
    timers.refuse_above_host(2e-3, 2e-3)
    with pytest.raises(RuntimeError, match=r"reports 3\.00 ms for calls that took 2\.00 ms on the host"):
        timers.refuse_above_host(3e-3, 2e-3)


class Machine:
    """A call of `call_s` seconds on a machine that is `busy` times as slow in between."""

    def __init__(self, call_s, busy=1.0):
        self.now, self.calls, self.call_s, self.busy = 0.0, 0, call_s, busy

    def __call__(self):
        self.calls += 1
        self.now += self.call_s * self.busy
        return self.call_s * self.busy

    def clock(self):
        return self.now


@pytest.mark.parametrize("busy", [1, 2, 4])
@pytest.mark.parametrize("call_s", [1e-4, 9e-4])
def test_a_short_call_is_repeated_often_enough_for_rotating_buffers(call_s, busy):
    machine = Machine(call_s, busy)
    timers.repeat_short_call(machine, machine.call_s, machine.clock)
    assert machine.calls >= 20


@pytest.mark.parametrize(("call_s", "calls"), [(0.3, 0), (0.1, 3), (0.02, 13), (1e-5, 2500)])
def test_calls_are_repeated_for_a_fixed_time(call_s, calls):
    machine = Machine(call_s)
    assert timers.repeat_short_call(machine, call_s, machine.clock) == call_s
    assert machine.calls == pytest.approx(calls, abs=1)


def test_the_minimum_time_counts():
    seconds, clock = iter([0.1, 0.06, 0.1, 0.1, 0.1]), itertools.count()
    assert timers.repeat_short_call(lambda: next(seconds), 0.2, lambda: float(next(clock))) == 0.06
    assert next(seconds, None) is None


def thread(folder, number, text):
    (folder / str(number)).mkdir(exist_ok=True)
    (folder / str(number) / "schedstat").write_text(text)


def test_the_share_is_the_sum_over_threads(tmp_path, monkeypatch):
    now = iter((100.0, 102.0))
    monkeypatch.setattr(timers, "TASKS", tmp_path)
    monkeypatch.setattr(timers, "perf_counter", lambda: next(now))
    thread(tmp_path, 1, "7 1000000000 3")
    thread(tmp_path, 2, "7 0 3")
    queue = timers.RunQueue()
    thread(tmp_path, 1, "7 2000000000 3")
    thread(tmp_path, 2, "7 2000000000 3")
    assert queue.share() == 1.5


def test_an_ended_thread_does_not_make_the_share_negative(tmp_path, monkeypatch):
    monkeypatch.setattr(timers, "TASKS", tmp_path)
    thread(tmp_path, 1, "7 10 3")
    thread(tmp_path, 2, "7 5000000000 3")
    queue = timers.RunQueue()
    (tmp_path / "2" / "schedstat").unlink()
    assert queue.share() == 0


def test_the_share_is_unknown_if_the_kernel_does_not_count(tmp_path, monkeypatch):
    monkeypatch.setattr(timers, "TASKS", tmp_path / "none")
    assert timers.RunQueue().share() is None
    monkeypatch.setattr(timers, "TASKS", tmp_path)
    thread(tmp_path, 1, "")
    assert timers.RunQueue().share() is None
