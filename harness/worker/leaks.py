"""Threads and processes that an implementation left running."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import thread

import psutil

# The innermost frame of an idle worker: taking from the queue is C code, and a task has frames of its own.
WAITING = thread._worker.__code__  # noqa: SLF001 # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]


def threads() -> dict[int, str]:
    """Every busy Python thread but the main one: identity → name, or the function it runs in.

    A pool's worker that waits for work disturbs nobody: torch.compile keeps such a pool for its next kernel.
    """
    names = {each.ident: each.name for each in threading.enumerate()}
    main = threading.main_thread().ident
    # the only list that has the threads started below `threading`; documented, for all its underscore
    running = sys._current_frames()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    return {
        ident: names.get(ident, f"unnamed, in {frame.f_code.co_name}")
        for ident, frame in running.items()
        if ident != main and frame.f_code is not WAITING
    }


def processes() -> list[str]:
    """Child processes that live, as `name (id)`."""
    names: list[str] = []
    for child in psutil.Process().children(recursive=True):
        try:
            if child.status() != psutil.STATUS_ZOMBIE:
                names.append(f"{child.name()} ({child.pid})")
        except psutil.NoSuchProcess:
            continue  # it ended meanwhile
    return sorted(names)
