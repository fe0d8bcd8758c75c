"""What keeps the machine alive while an implementation misbehaves."""

from __future__ import annotations

import os
import resource
from pathlib import Path

from harness.spec.errors import speaks_of_oom


def pin(threads: int) -> None:
    """Use the first `threads` cores this process may use; XLA sizes its pool by that."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def volunteer() -> None:
    """Be the first the kernel kills when the whole machine runs out of memory."""
    Path("/proc/self/oom_score_adj").write_text("1000")


def address_space() -> int:
    """Bytes of address space in use."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def cap_memory(allowed: int) -> None:
    """Let this process map `allowed` bytes more than it has mapped now."""
    cap = address_space() + allowed
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (cap if hard < 0 else min(cap, hard), hard))


def resident() -> int:
    """Resident bytes of this process now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def reset_high_water() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def high_water() -> int:
    """Largest resident size in bytes since :func:`reset_high_water`."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise OSError("/proc/self/status has no VmHWM")


def is_oom(error: BaseException) -> bool:
    """Whether an exception is one of the forms in which frameworks report exhausted memory."""
    return isinstance(error, MemoryError) or speaks_of_oom(f"{type(error).__name__} {error}")
