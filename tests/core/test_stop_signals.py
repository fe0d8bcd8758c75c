"""Stop signals: a command cleans up once, as after Ctrl-C."""

import os
import signal
from contextlib import contextmanager

import pytest

from harness.core.stop_signals import STOPPING, terminable, time_limit


@pytest.fixture(autouse=True)
def handlers():
    """The default handlers, whatever started the tests: nohup ignores SIGHUP. They are put back."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in STOPPING}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", STOPPING)
def test_a_signal_is_ctrl_c_and_a_second_one_interrupts_nothing(number):
    before = signal.getsignal(number)
    put_away = []

    @contextmanager
    def work():
        try:
            yield
        finally:
            for again in STOPPING:
                os.kill(os.getpid(), again)
            put_away.append("all")

    with pytest.raises(KeyboardInterrupt), terminable(), work():
        os.kill(os.getpid(), number)
    assert put_away == ["all"]
    assert signal.getsignal(number) == before


def test_a_second_signal_interrupts_nothing_until_the_outermost_block_ends():
    put_away = []

    def command():
        with terminable():
            try:
                with terminable():
                    os.kill(os.getpid(), signal.SIGTERM)
            finally:
                os.kill(os.getpid(), signal.SIGHUP)
                put_away.append("all")

    with pytest.raises(KeyboardInterrupt):
        command()
    assert put_away == ["all"]


def test_what_nohup_ignores_stays_ignored():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with terminable():
        os.kill(os.getpid(), signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


def test_a_time_limit_is_ctrl_c_and_ends_with_its_block():
    before = [signal.getsignal(number) for number in (*STOPPING, signal.SIGALRM)]

    def wait():
        with time_limit(1e-3):
            while True:
                signal.pause()

    with pytest.raises(KeyboardInterrupt):
        wait()
    with time_limit(1e300):
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 0
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    assert [signal.getsignal(number) for number in (*STOPPING, signal.SIGALRM)] == before


def test_a_limit_that_is_reached_while_ctrl_c_is_handled_interrupts_nothing():
    put_away = []

    def command():
        with time_limit(60):
            try:
                os.kill(os.getpid(), signal.SIGINT)
            finally:
                os.kill(os.getpid(), signal.SIGALRM)
                put_away.append("all")

    with pytest.raises(KeyboardInterrupt):
        command()
    assert put_away == ["all"]
