"""Threads and processes that an implementation left running, and shared memory that outlives it."""

import sys
import threading
from collections.abc import Iterable
from concurrent.futures import thread
from contextlib import suppress
from pathlib import Path

import psutil

from harness.core.units import format_bytes

SHARED = "/dev/shm/"  # noqa: S108 - where POSIX keeps shared memory (shm_overview(7))
LEAST_BYTES = 1 << 20  # smaller files are the libraries' own

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


def descendants() -> list[psutil.Process]:
    """The processes below this one: a look at all of the machine's, so ask once."""
    return psutil.Process().children(recursive=True)


def processes(below: Iterable[psutil.Process]) -> list[str]:
    """Those of the processes that live, as `name (id)`."""
    names: list[str] = []
    for child in below:
        try:
            if child.status() != psutil.STATUS_ZOMBIE:
                names.append(f"{child.name()} ({child.pid})")
        except psutil.NoSuchProcess:
            continue  # it ended meanwhile
    return sorted(names)


def shared_memory(below: Iterable[psutil.Process]) -> list[str]:
    """Files in memory that this process or one `below` it maps, as `1.00 GiB of shared memory (path)`.

    They stay when all of these have ended. What is mapped no more cannot be told from other programs' files.
    """
    mapped: set[str] = set()
    for process in (psutil.Process(), *below):
        with suppress(OSError):  # it ended meanwhile
            lines = Path(f"/proc/{process.pid}/maps").read_text().splitlines()
            mapped |= {SHARED + line.partition(SHARED)[2] for line in lines if SHARED in line}
    files: list[str] = []
    for path in sorted(mapped):
        with suppress(OSError):  # unlinked already: it goes with its last process
            if (size := Path(path).stat().st_size) >= LEAST_BYTES:
                files.append(f"{format_bytes(size)} of shared memory ({path})")
    return files
