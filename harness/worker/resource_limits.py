"""Limits of a worker's memory and cores: they keep the machine alive when code misbehaves.

Files have none: a compiler writes its cache in the worker's name, and g++'s precompiled headers of torch
alone are beyond 64 MiB. What a worker prints is cut by the runner instead.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path

from harness.core.errors import speaks_of_oom

CAUSES = 5  # exceptions looked at, of a chain that may be a circle


def pin(threads: int, *, last: bool = False) -> None:
    """Use the first (or last) `threads` cores this process may use; XLA sizes its pool by that."""
    cores = sorted(os.sched_getaffinity(0), reverse=last)
    os.sched_setaffinity(0, cores[:threads])


def release(cores: Iterable[int]) -> None:
    """Let every thread of this process run on any of these cores again; none is added."""
    wanted = set(cores)
    for task in Path("/proc/self/task").iterdir():
        with suppress(ProcessLookupError):  # it has just ended
            os.sched_setaffinity(int(task.name), wanted)


def volunteer() -> None:
    """Be the first the kernel kills when the whole machine runs out of memory."""
    Path("/proc/self/oom_score_adj").write_text("1000")


def address_space() -> int:
    """Bytes of address space in use."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def cap_memory(allowed: int) -> None:
    """Let this process map `allowed` bytes more than it has mapped now."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = address_space() + allowed
    resource.setrlimit(resource.RLIMIT_AS, (most if hard < 0 else min(most, hard), hard))


@contextmanager
def lifted() -> Generator[None]:
    """No cap of memory meanwhile: what the harness itself takes is not held against an implementation."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (before[1], before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def rise() -> Callable[[], int | None]:
    """A function that gives the bytes by which the resident size has peaked above what it is now.

    It gives None where the kernel does not let a process forget its earlier peak.
    """
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return lambda: None
    before = _high_water()
    return lambda: max(0, _high_water() - before)


def _high_water() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise OSError("/proc/self/status has no VmHWM")


def is_oom(error: BaseException | None) -> bool:
    """Whether an exception, or its cause, is a form in which frameworks report exhausted memory."""
    for _ in range(CAUSES):
        if error is None:
            return False
        if isinstance(error, MemoryError) or speaks_of_oom(f"{type(error).__name__} {said(error)}"):
            return True
        error = error.__cause__
    return False


def said(error: BaseException) -> str:
    """An exception's message in one line, also where asking for it raises another one."""
    try:
        return " ".join(str(error).split())[:300].encode(errors="replace").decode()
    except BaseException as second:
        return f"(its message raises {type(second).__name__})"
