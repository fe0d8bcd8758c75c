"""Looking at the memory of measuring processes from outside, and saying why one died."""

from __future__ import annotations

import itertools
import os
import signal
from collections import deque
from pathlib import Path

import psutil

from harness.spec.errors import speaks_of_oom
from harness.spec.units import format_bytes

NEAR = 0.9
LOOKS = 10
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Watch:
    """What the living processes have taken since their fork: resident bytes and address space."""

    def __init__(self) -> None:
        self.limit_bytes = 0
        self.start: dict[int, tuple[int, int]] = {}
        self.allowed: dict[int, int] = {}
        self.taken: dict[int, int] = {}
        self.seen: dict[int, deque[int]] = {}

    def add(self, pid: int, allowed: int) -> None:
        self.start[pid], self.allowed[pid], self.taken[pid] = _pages(pid), allowed, 0
        self.seen[pid] = deque(maxlen=LOOKS)

    def remove(self, pid: int) -> None:
        for table in (self.start, self.allowed, self.taken, self.seen):
            table.pop(pid, None)

    def look(self, turn: int) -> str | None:
        """Note the sizes; a sentence when all processes together pass the limit."""
        total = 0
        for pid, (mapped_before, private_before) in self.start.items():
            mapped, private = _pages(pid)
            total += max(0, private - private_before)
            self.taken[pid] = max(self.taken[pid], mapped - mapped_before, private - private_before)
            if pid == turn:
                self.seen[pid].append(private - private_before)
        if total <= self.limit_bytes or turn not in self.start:
            return None
        return (
            f"resident memory reached {format_bytes(total)}; "
            f"the limit is {format_bytes(self.limit_bytes)}: raise --memory"
        )

    def near_limit(self, pid: int) -> str | None:
        """How close a process came to its limit, when that is close enough to explain its death."""
        taken, allowed = self.taken.get(pid, 0), self.allowed.get(pid, 0)
        if not allowed or taken < NEAR * allowed:
            return None
        return f"with {format_bytes(taken)} taken of the {format_bytes(allowed)} allowed"

    def growing(self, pid: int) -> str | None:
        """A sentence when a process that ran out of time was on its way out of memory.

        It was, when it never stopped growing over the last looks, and as much again would not fit.
        """
        seen, allowed = list(self.seen.get(pid, ())), self.allowed.get(pid, 0)
        rising = len(seen) == LOOKS and all(a < b for a, b in itertools.pairwise(seen))
        if not rising or 2 * seen[-1] < allowed:
            return None
        return f"still growing, with {format_bytes(seen[-1])} taken of the {format_bytes(allowed)} allowed"


def _pages(pid: int) -> tuple[int, int]:
    """(address space, resident bytes that no file backs) of a process and what it has started."""
    mapped = private = 0
    try:
        family = [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]
    except psutil.Error:
        family = [pid]
    for member in family:
        try:
            fields = Path(f"/proc/{member}/statm").read_text().split()
        except OSError:
            continue  # it ended between the listing and the look
        mapped += int(fields[0]) * _PAGE
        private += (int(fields[1]) - int(fields[2])) * _PAGE
    return mapped, private


def explain(code: int | None, output: str, near: str | None) -> tuple[str, str]:
    """(status, sentence) for a process that ended without an answer.

    `code` is its exit code, negative for a signal, None when unknown; `output` the end of what it
    wrote.
    """
    lines = [line for line in output.strip().splitlines() if line.strip()]
    said = f': "{lines[-1].strip()[:200]}"' if lines else ""
    if near or speaks_of_oom(output):
        how = f" {near}" if near else said
        return "oom", f"it died{how}; raise --memory or shorten the sequence"
    if code is None:
        return "crashed", f"it vanished with its server{said}; run it alone to see whether it repeats"
    if code < 0:
        name = signal.Signals(-code).name
        return "crashed", f"killed by {name}{said}; run it alone under a debugger"
    return "crashed", f"it ended with exit code {code} instead of an answer{said}"
