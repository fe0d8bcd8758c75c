"""Signals and a time limit that end a command like Ctrl-C. Everything measured is stored."""

import signal
from collections.abc import Generator
from contextlib import contextmanager

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # Ctrl-C; schedulers; a closed terminal


LONGEST_S = 1e9  # of a timer


def _stop(*_: object) -> None:
    for number in (*STOPPING, signal.SIGALRM):
        if signal.getsignal(number) is _stop:
            signal.signal(number, _ignore)  # not SIG_IGN, which new processes would inherit
    raise KeyboardInterrupt


def _ignore(*_: object) -> None:
    """Ignore a signal, because the first one has already ended the block."""


@contextmanager
def terminable() -> Generator[None]:
    """Raise KeyboardInterrupt in the block at the first of these signals, unless nohup ignores it.

    A closed terminal sends two signals, as does Ctrl-C under timeout(1). The second is ignored until the end
    of the outermost block, so that it does not interrupt the clean-up after the first. A handler that is not
    Python's (None) is not replaced.
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
    """Like :func:`terminable`; also raise KeyboardInterrupt in the block after `seconds`."""
    before = signal.signal(signal.SIGALRM, _stop)
    signal.setitimer(signal.ITIMER_REAL, min(seconds, LONGEST_S))
    try:
        with terminable():
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
