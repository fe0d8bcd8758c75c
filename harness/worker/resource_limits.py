"""Limits of a worker's memory and cores, which protect the machine from misbehaving code.

File sizes are not limited: compilers write their caches from within the worker, and g++'s precompiled
headers of torch alone exceed 64 MiB. The runner truncates a worker's output instead.
"""

import ctypes
import os
import resource
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path

from harness.core.errors import reports_oom
from harness.core.shown_text import message_of

CAUSES = 5  # exceptions examined in a chain of causes, which may be circular


def pin(threads: int, *, first: int = 0, last: bool = False) -> None:
    """Pin this process to `threads` of its cores; XLA sizes its thread pool by that.

    They are taken from index `first` on, wrapping around; with `last` from the end.
    """
    cores = sorted(os.sched_getaffinity(0), reverse=last)
    start = first % len(cores)
    os.sched_setaffinity(0, [*cores[start:], *cores[:start]][:threads])


def release(cores: Iterable[int]) -> None:
    """Let every thread of this process run on any of these cores again."""
    allowed = set(cores)
    # Affinity is per thread (sched_setaffinity(2)), and the pool of a backend has inherited the narrow one.
    for task in Path("/proc/self/task").iterdir():
        with suppress(ProcessLookupError):  # it has just ended
            os.sched_setaffinity(int(task.name), allowed)


def prefer_oom_kill() -> None:
    """Make this process the first that the kernel's OOM killer picks."""
    # 1000 is the highest value. Raising one's own needs no privilege (proc_pid_oom_score_adj(5)).
    with suppress(OSError):  # a sandbox may mount /proc read-only
        Path("/proc/self/oom_score_adj").write_text("1000")


def cap_memory(allowed: int) -> None:
    """Let this process map `allowed` bytes more than it has mapped now."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    # Only the soft limit, which can be raised again, up to the hard one (getrlimit(2)); −1 is no limit.
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    limit = mapped + allowed
    resource.setrlimit(resource.RLIMIT_AS, (limit if hard < 0 else min(limit, hard), hard))


@contextmanager
def lift_memory_cap() -> Generator[None]:
    """Lift the memory cap for a block: the harness's own memory must not count for an implementation."""
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (limits[1], limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)


def rise() -> Callable[[], int | None]:
    """A function that returns by how many bytes the resident size has peaked above its present value.

    It returns None where the kernel does not let a process reset its earlier peak. Memory that was freed
    goes back to the system first, since a call that takes it again raises nothing.
    """
    with suppress(AttributeError):  # only glibc has it
        ctypes.CDLL(None).malloc_trim(0)
    try:
        # 5 sets VmHWM back to the present resident size (proc_pid_clear_refs(5), Linux 4.0).
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return lambda: None
    resident = _high_water()
    return lambda: max(0, _high_water() - resident)


def _high_water() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise OSError("/proc/self/status has no VmHWM")


def is_oom(error: BaseException | None) -> bool:
    """Whether an exception, or one of its causes, reports exhausted memory as frameworks do."""
    for _ in range(CAUSES):
        if error is None:
            return False
        if isinstance(error, MemoryError) or reports_oom(f"{type(error).__name__} {message_of(error)}"):
            return True
        error = error.__cause__
    return False
