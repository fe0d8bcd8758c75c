"""Processes below a worker or a server, from the kernel's own lists: read while they are stopped."""

import os
from contextlib import suppress
from pathlib import Path


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


def _children(task: Path) -> list[int]:
    """Those of a thread; none where it has ended."""
    with suppress(OSError):
        return [int(child) for child in (task / "children").read_text().split()]
    return []
