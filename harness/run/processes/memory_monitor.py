"""Memory monitor: observes the memory of measuring processes from outside."""

import os
import resource
import time
from dataclasses import dataclass
from pathlib import Path

from harness.core.process_tree import with_descendants
from harness.core.units import format_bytes

NEAR = 0.9  # of a limit: close enough to explain a death
PAUSE = 10.0  # between two counts of shared pages, in units of the time that the first count took
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass
class Watched:
    """A monitored process: its private bytes `before`, at its fork, and since, and the bytes `allowed`.

    `repeated` are the bytes of `private` that parents and children count twice; `taken` is the peak so far.
    """

    before: int
    allowed: int
    private: int = 0
    repeated: int = 0
    taken: int = 0


class MemoryMonitor:
    """Monitors the memory that the living processes have taken since their fork.

    One limit bounds the resident bytes of all processes together. Another, RLIMIT_AS, bounds the address
    space that each process may map in addition to what its backend mapped at the start.
    """

    def __init__(self) -> None:
        self.limit_bytes = 0
        self.turn: int | None = None
        self.watched: dict[int, Watched] = {}
        self.next_count_s = 0.0

    def add(self, pid: int, allowed: int) -> None:
        # Pages shared with the fork server are also anonymous, so only the growth from here on counts.
        self.watched[pid] = Watched(_private_bytes(pid), allowed)

    def remove(self, pid: int) -> None:
        self.watched.pop(pid, None)

    def look(self, turn: int) -> str | None:
        """Update the sizes; a sentence if all processes together exceed the limit.

        Parked processes cannot grow, so they are read only once per turn.
        """
        for pid, process in list(self.watched.items()):
            if pid == turn or turn != self.turn:
                process.private = _private_bytes(pid) - process.before
        self.turn, own = turn, self.watched.get(turn)
        self._count_repeated(own)
        if own is None:
            return None
        own.taken = max(own.taken, own.private - own.repeated, _mapped_bytes(turn, own.allowed))
        total = self._total()
        if total <= self.limit_bytes:
            return None
        return (
            f"resident memory reached {format_bytes(total)}, "
            f"over the limit of {format_bytes(self.limit_bytes)}; raise --memory"
        )

    def _total(self) -> int:
        """Private bytes of all living processes, without those counted twice."""
        return sum(max(0, process.private - process.repeated) for process in list(self.watched.values()))

    def _count_repeated(self, own: Watched | None) -> None:
        """Count the pages that parents and children share, if the sizes come near a limit.

        The kernel walks all pages for that: 12 ms per GiB and process (Linux 6.18), compared with 40 µs for a
        size. So it is done rarely, and the latest count is used until the next one. Before the limit counts
        as exceeded, pages are always counted again.
        """
        living = list(self.watched.items())
        near = sum(max(0, process.private) for _, process in living) > NEAR * self.limit_bytes
        if not near and (own is None or own.private <= NEAR * own.allowed):
            for _, process in living:
                process.repeated = 0
            return
        start = time.monotonic()
        if start >= self.next_count_s or self._total() > self.limit_bytes:
            for pid, process in living:
                process.repeated = _repeated_bytes(pid)
            end = time.monotonic()
            self.next_count_s = end + PAUSE * (end - start)

    def near_limit(self, pid: int) -> str | None:
        """A phrase on how close a process came to its limit, if close enough to explain its death."""
        process = self.watched.get(pid)
        if process is None or process.taken < NEAR * process.allowed:
            return None
        return f"using {format_bytes(process.taken)} of the {format_bytes(process.allowed)} allowed"


def _private_bytes(pid: int) -> int:
    """Resident bytes of a process and its descendants that are not shared and not file-backed."""
    sizes = [_sizes(member) for member in with_descendants(pid)]
    # statm's third field is file-backed and shared memory (proc_pid_statm(5)): inputs, which all processes
    # map from files, are not counted.
    return sum(resident - shared for _, resident, shared in sizes)


def _repeated_bytes(pid: int) -> int:
    """The bytes that :func:`_private_bytes` counts more than once; 0 without child processes."""
    members = with_descendants(pid)
    if len(members) == 1:
        return 0
    sizes = [_sizes(member) for member in members]
    each = [resident - shared for _, resident, shared in sizes]
    shares = sum(_proportional_bytes(*pair) for pair in zip(members, each, strict=True))
    # Proportional bytes also divide pages shared with the server, and so are too small; hence the maximum.
    return sum(each) - max(shares, each[0])


def _proportional_bytes(pid: int, private: int) -> int:
    """Anonymous bytes of a process, each page divided by the number of processes that map it (PSS).

    `private` if the kernel does not report them.
    """
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:  # it has ended, or may not be read
        return private
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss_Anon:")), private)


def _mapped_bytes(pid: int, allowed: int) -> int:
    """The bytes of the allowed address space that a process has mapped; 0 while it has no limit."""
    try:
        cap, _ = resource.prlimit(pid, resource.RLIMIT_AS)
    except OSError:
        return 0  # it has ended
    return 0 if cap == resource.RLIM_INFINITY else allowed - (cap - _sizes(pid)[0])


def _sizes(pid: int) -> tuple[int, int, int]:
    """(address space, resident, shared) memory in bytes; zeros if the process has ended."""
    try:
        fields = Path(f"/proc/{pid}/statm").read_text().split()
    except OSError:
        return 0, 0, 0
    mapped, resident, shared = (int(field) * _PAGE for field in fields[:3])
    return mapped, resident, shared


def oom_kills() -> int:
    """The number of processes that the kernel's OOM killer has killed since boot."""
    try:
        _, _, rest = Path("/proc/vmstat").read_bytes().partition(b"\noom_kill ")
    except OSError:
        return 0
    return int(rest.split(maxsplit=1)[0]) if rest else 0
