"""Processes below a worker or a server, from the kernel's own lists: read while they are stopped."""

from __future__ import annotations

import os
import resource
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

LIMITS = (resource.RLIMIT_AS, resource.RLIMIT_DATA, resource.RLIMIT_CPU, resource.RLIMIT_NOFILE)


def family(pid: int) -> list[int]:
    """A process and its descendants; the kernel's lists of children cost a hundredth of a scan of /proc."""
    found = [pid]
    for state in found:  # grows on the way
        with suppress(OSError):  # it has ended
            found += _children(state)
    return found


def cores(pid: int) -> set[int]:
    """The cores that some thread of a process or of its descendants may run on."""
    allowed: set[int] = set()
    for state in family(pid):
        with suppress(OSError):
            for task in Path(f"/proc/{state}/task").iterdir():
                allowed |= os.sched_getaffinity(int(task.name))
    return allowed


def strays(server: int, workers: Collection[int]) -> dict[int, str]:
    """The living children of a server that it has not forked, by id: what started them has ended."""
    found: dict[int, str] = {}
    with suppress(OSError):
        for pid in _children(server):
            if pid not in workers and _lives(pid):
                found[pid] = f"{Path(f'/proc/{pid}/comm').read_text().strip()} ({pid})"
    return found


def _children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


class Means(NamedTuple):
    """What the kernel lets a process have."""

    nice: int
    policy: int
    cores: frozenset[int]
    limits: tuple[tuple[int, int], ...]


def means(pid: int) -> Means | None:
    """Those of a process; None where it has ended."""
    try:
        limits = tuple(resource.prlimit(pid, kind) for kind in LIMITS)
        nice, policy = os.getpriority(os.PRIO_PROCESS, pid), os.sched_getscheduler(pid)
        return Means(nice, policy, frozenset(os.sched_getaffinity(pid)), limits)
    except ProcessLookupError:
        return None


def _lives(pid: int) -> bool:
    # The state follows the name in brackets, which may hold brackets and spaces itself (proc_pid_stat(5)).
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
