"""Threads and processes that an implementation left running."""

from __future__ import annotations

import sys
import threading

import psutil


def threads() -> dict[int, str]:
    """Every Python thread but the main one: identity → name, or the function it runs in."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    main = threading.main_thread().ident
    # the only list that has the threads started below `threading`; documented, for all its underscore
    running = sys._current_frames()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    return {
        ident: names.get(ident, f"unnamed, in {frame.f_code.co_name}")
        for ident, frame in running.items()
        if ident != main
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
