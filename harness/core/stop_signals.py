"""Signals that end a command as Ctrl-C does, and a time limit that does. All that was measured is kept."""

import signal
from collections.abc import Generator
from contextlib import contextmanager

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # Ctrl-C; schedulers; a terminal that goes away


LONGEST_S = 1e9  # of a timer


def _stop(*_: object) -> None:
    for number in (*STOPPING, signal.SIGALRM):
        if signal.getsignal(number) is _stop:
            signal.signal(number, _ignore)  # not SIG_IGN, which processes started now would inherit
    raise KeyboardInterrupt


def _ignore(*_: object) -> None:
    """The first signal has ended the block already."""


@contextmanager
def terminable() -> Generator[None]:
    """Raise KeyboardInterrupt in the block at the first of these signals; what nohup ignores stays ignored.

    A terminal that goes away sends two, and below timeout(1) so does Ctrl-C. The second is ignored until the
    end of the outermost block, so that nothing interrupts the clean-up after the first. A handler that is
    not Python's (None) stays as well.
    """
    known = {number: signal.getsignal(number) for number in STOPPING}
    before = {
        n: handler for n, handler in known.items() if handler not in {signal.SIG_IGN, None, _stop, _ignore}
    }
    for number in before:
        signal.signal(number, _stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def time_limit(seconds: float) -> Generator[None]:
    """As :func:`terminable`; also raise KeyboardInterrupt in the block when it has lasted so many seconds."""
    before = signal.signal(signal.SIGALRM, _stop)
    signal.setitimer(signal.ITIMER_REAL, min(seconds, LONGEST_S))
    try:
        with terminable():
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
