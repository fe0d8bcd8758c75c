"""The descendants of a process, from the kernel's lists.

A scan of /proc, as in psutil, takes a hundred times as long, and fails if other users' processes are hidden
(hidepid). A list may omit a process while a sibling of it ends (proc_pid_task_children(5)).
"""

import os
from contextlib import suppress
from pathlib import Path

LISTED = Path(f"/proc/self/task/{os.getpid()}/children").exists()  # not where CONFIG_PROC_CHILDREN is off


def with_descendants(pid: int) -> list[int]:
    """A process and its descendants."""
    members = [pid]
    for member in members:  # grows during the loop
        members += children(member)
    return members


def children(pid: int) -> list[int]:
    """The child processes of all threads of a process; empty if it has ended."""
    if not LISTED:
        return [int(stat.parent.name) for stat in Path("/proc").glob("[0-9]*/stat") if _parent(stat) == pid]
    found: list[int] = []
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += _children(task)
    return found


def allowed_cores(pid: int) -> set[int]:
    """The cores that any thread of a process or its descendants may run on."""
    allowed: set[int] = set()
    for member in with_descendants(pid):
        with suppress(OSError):
            for task in Path(f"/proc/{member}/task").iterdir():
                allowed |= os.sched_getaffinity(int(task.name))
    return allowed


def _children(task: Path) -> list[int]:
    """The child processes of one thread; empty if it has ended."""
    with suppress(OSError):
        return [int(child) for child in (task / "children").read_text().split()]
    return []


def _parent(stat: Path) -> int | None:
    """The parent's id in /proc/PID/stat (proc_pid_stat(5)), after a name that may contain brackets."""
    with suppress(OSError):
        return int(stat.read_bytes().rpartition(b")")[2].split()[1])
    return None
