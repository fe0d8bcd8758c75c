"""Memory and core limits of a worker, which protect the machine from misbehaving code.

File sizes are not limited, because compilers write their caches from the worker, and g++'s precompiled
headers of torch exceed 64 MiB. The runner truncates a worker's output instead.
"""

import ctypes
import os
import resource
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path

from harness.core.errors import reports_oom
from harness.core.shown_text import message_of

CAUSES = 5  # longest chain of causes to examine, because chains may be circular


def pin(threads: int, *, first: int = 0, last: bool = False) -> None:
    """Pin this process to `threads` of its cores, which also sets the size of XLA's thread pool.

    The cores start at index `first` and wrap around; with `last` they count from the end.
    """
    cores = sorted(os.sched_getaffinity(0), reverse=last)
    start = first % len(cores)
    os.sched_setaffinity(0, [*cores[start:], *cores[:start]][:threads])


def release(cores: Iterable[int]) -> None:
    """Allow every thread of this process to run on all of these cores again."""
    allowed = set(cores)
    # Affinity is per thread (sched_setaffinity(2)), and a backend's pool has inherited the pinning.
    for task in Path("/proc/self/task").iterdir():
        with suppress(ProcessLookupError):  # the thread has just ended
            os.sched_setaffinity(int(task.name), allowed)


def prefer_oom_kill() -> None:
    """Make this process the OOM killer's first choice."""
    # 1000 is the highest value. Raising one's own needs no privilege (proc_pid_oom_score_adj(5)).
    with suppress(OSError):  # a sandbox may mount /proc read-only
        Path("/proc/self/oom_score_adj").write_text("1000")


def cap_memory(allowed: int) -> None:
    """Limit this process to `allowed` bytes more than it has mapped now."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    # Sets the soft limit, which can be raised again up to the hard one (getrlimit(2)). −1 means unlimited.
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    limit = mapped + allowed
    resource.setrlimit(resource.RLIMIT_AS, (limit if hard < 0 else min(limit, hard), hard))


@contextmanager
def lift_memory_cap() -> Generator[None]:
    """Lift the memory cap for a block, because the harness's memory must not count for an implementation."""
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (limits[1], limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)


def track_peak() -> Callable[[], int | None]:
    """A function that returns the peak growth of the resident size since now, in bytes.

    It returns None if the kernel does not let a process reset its earlier peak. Freed memory is returned to
    the system first, because reusing it would not grow the resident size.
    """
    with suppress(AttributeError):  # only glibc has it
        ctypes.CDLL(None).malloc_trim(0)
    try:
        # 5 resets VmHWM to the present resident size (proc_pid_clear_refs(5), Linux 4.0).
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
    """Whether an exception or one of its causes is a framework's out-of-memory error."""
    for _ in range(CAUSES):
        if error is None:
            return False
        if isinstance(error, MemoryError) or reports_oom(f"{type(error).__name__} {message_of(error)}"):
            return True
        error = error.__cause__
    return False
