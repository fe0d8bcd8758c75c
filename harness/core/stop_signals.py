"""Signals that end a command as Ctrl-C does: with everything measured kept, and its processes ended."""

from __future__ import annotations

import signal
from collections.abc import Generator
from contextlib import contextmanager

STOPPING = (signal.SIGTERM, signal.SIGHUP)  # of kill and schedulers; of a terminal that goes away


@contextmanager
def terminable() -> Generator[None]:
    """Let the first of them raise KeyboardInterrupt in the block; what nohup ignores stays ignored.

    A terminal that goes away sends two: the second must not interrupt what the first has begun to put away.
    """
    known = {number: signal.getsignal(number) for number in STOPPING}
    before = {number: handler for number, handler in known.items() if handler is not signal.SIG_IGN}

    def stop(*_: object) -> None:
        for number in before:
            signal.signal(number, lambda *_: None)  # not SIG_IGN, which processes started now would inherit
        raise KeyboardInterrupt

    for number in before:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
