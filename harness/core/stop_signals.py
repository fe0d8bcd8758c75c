"""Signals that end a command as Ctrl-C does: with everything measured kept, and its processes ended."""

import signal
from collections.abc import Generator
from contextlib import contextmanager

STOPPING = (signal.SIGTERM, signal.SIGHUP)  # of kill and schedulers; of a terminal that goes away


def _stop(*_: object) -> None:
    for number in STOPPING:
        if signal.getsignal(number) is _stop:
            signal.signal(number, _ignore)  # not SIG_IGN, which processes started now would inherit
    raise KeyboardInterrupt


def _ignore(*_: object) -> None:
    """The first signal has ended the block already."""


@contextmanager
def terminable() -> Generator[None]:
    """Raise KeyboardInterrupt in the block at the first of these signals; what nohup ignores stays ignored.

    A terminal that goes away sends two. The second is ignored until the end of the outermost block, so that
    the clean-up after the first is not interrupted. A handler that is not Python's (None) stays as well.
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
