"""Processes below a worker or a server, from the kernel's own lists: read while they are stopped."""

from __future__ import annotations

import os
import resource
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from harness.core.shown_text import clean_line

LIMITS = (resource.RLIMIT_AS, resource.RLIMIT_DATA, resource.RLIMIT_CPU, resource.RLIMIT_NOFILE)


def with_descendants(pid: int) -> list[int]:
    """A process and its descendants; the kernel's lists of children cost a hundredth of a scan of /proc."""
    members = [pid]
    for member in members:  # grows on the way
        with suppress(OSError):  # it has ended
            for task in Path(f"/proc/{member}/task").iterdir():
                members += _children(task)
    return members


def allowed_cores(pid: int) -> set[int]:
    """The cores that some thread of a process or of its descendants may run on."""
    allowed: set[int] = set()
    for member in with_descendants(pid):
        with suppress(OSError):
            for task in Path(f"/proc/{member}/task").iterdir():
                allowed |= os.sched_getaffinity(int(task.name))
    return allowed


def orphans(server: int, workers: Collection[int]) -> dict[int, str]:
    """The living children of a server that it has not forked, by id: what started them has ended."""
    names: dict[int, str] = {}
    # Orphans go to its first thread; with a BLAS on 64 cores it has as many, and reading all takes 1 ms.
    for pid in set(_children(Path(f"/proc/{server}/task/{server}"))).difference(workers):
        with suppress(OSError):  # it has ended
            # The state follows the name in brackets, which may hold any bytes (proc_pid_stat(5)).
            stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
            name, _, rest = stat.partition("(")[2].rpartition(")")
            if rest.split()[0] != "Z":
                names[pid] = f"{clean_line(name)} ({pid})"
    return names


def _children(task: Path) -> list[int]:
    """Those of a thread; none where it has ended."""
    with suppress(OSError):
        return [int(child) for child in (task / "children").read_text().split()]
    return []


class Scheduling(NamedTuple):
    """How the kernel schedules a process, and its resource limits: what another process may change."""

    nice: int
    policy: int
    cores: frozenset[int]
    limits: tuple[tuple[int, int], ...]


def scheduling_of(pid: int) -> Scheduling | None:
    """Those of a process; None where it has ended, or does not let itself be looked into."""
    try:
        limits = tuple(resource.prlimit(pid, kind) for kind in LIMITS)
        nice, policy = os.getpriority(os.PRIO_PROCESS, pid), os.sched_getscheduler(pid)
        return Scheduling(nice, policy, frozenset(os.sched_getaffinity(pid)), limits)
    except OSError:
        return None
