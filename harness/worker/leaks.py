"""Leaks of an implementation: running threads and processes, and shared memory that outlives it."""

import os
import sys
import threading
from collections.abc import Iterable, Mapping
from concurrent.futures import thread
from contextlib import suppress
from pathlib import Path

import psutil

from harness.core.process_tree import with_descendants
from harness.core.shown_text import clean_line
from harness.core.units import format_bytes

SHARED = "/dev/shm/"  # noqa: S108 - where POSIX keeps shared memory (shm_overview(7))
LEAST_BYTES = 1 << 20  # smaller files are the libraries' own

# The innermost Python frame of an idle pool worker: its queue's get is C code, a task has further frames.
WAITING = thread._worker.__code__  # noqa: SLF001 # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]


def left_since(before: Mapping[int, str]) -> dict[str, list[str]]:
    """What runs or stays now, without the threads of `before`."""
    below = descendants()
    return {
        "threads": sorted(name for ident, name in threads().items() if ident not in before),
        "processes": processes(below),
        "shared_memory": shared_memory(below),
    }


def threads() -> dict[int, str]:
    """Every busy Python thread but the main one: identity → name, or the function it runs in.

    Idle workers of a thread pool are left out, such as those that torch.compile keeps for its next kernel.
    """
    names = {each.ident: each.name for each in threading.enumerate()}
    main = threading.main_thread().ident
    # Documented despite its underscore, and the only list that includes threads not started by `threading`.
    running = sys._current_frames()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    return {
        ident: clean_line(names.get(ident, f"unnamed, in {frame.f_code.co_name}"))
        for ident, frame in running.items()
        if ident != main and frame.f_code is not WAITING
    }


def descendants() -> list[int]:
    """The processes below this one."""
    return with_descendants(os.getpid())[1:]


def processes(below: Iterable[int]) -> list[str]:
    """The living ones of these processes, as `name (id)`."""
    names: list[str] = []
    for pid in below:
        with suppress(psutil.NoSuchProcess):  # it ended meanwhile
            child = psutil.Process(pid)
            if child.status() != psutil.STATUS_ZOMBIE:
                names.append(f"{clean_line(child.name())} ({pid})")
    return sorted(names)


def shared_memory(below: Iterable[int]) -> list[str]:
    """Files in memory that this process or one `below` it maps, as `1.00 GiB of shared memory (path)`.

    They outlive these processes. Files that are no longer mapped cannot be attributed to them.
    """
    mapped: set[str] = set()
    for pid in (os.getpid(), *below):
        with suppress(OSError):  # it ended meanwhile
            lines = os.fsdecode(Path(f"/proc/{pid}/maps").read_bytes()).splitlines()
            mapped |= {SHARED + line.partition(SHARED)[2] for line in lines if SHARED in line}
    files: list[str] = []
    for path in sorted(mapped):
        with suppress(OSError):  # unlinked already: it goes with its last process
            if (size := Path(path).stat().st_size) >= LEAST_BYTES:
                files.append(f"{format_bytes(size)} of shared memory ({clean_line(path)})")
    return files
