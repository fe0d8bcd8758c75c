"""A worker's output in a file of limited size; its last lines help to explain a death."""

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from harness.core.errors import reports_oom
from harness.core.remedy import Remedy
from harness.core.shown_text import clean_line
from harness.run.processes.executor import Ended

LIMIT_BYTES = 16 * 2**20
TAIL_BYTES = 4000
CRASH_BYTES = 1 << 18  # of a crashed process's output that are stored


class Log:
    """The file that a worker's output goes to."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def open(self) -> BinaryIO:
        """Open for appending, so that output after a truncation is written to the start of the file."""
        return self.path.open("ab")

    def cut(self) -> None:
        """Truncate the file once it is larger than LIMIT_BYTES."""
        with suppress(OSError):  # the worker may have removed it
            if self.path.stat().st_size > LIMIT_BYTES:
                os.truncate(self.path, 0)

    def tail(self, count: int = TAIL_BYTES) -> str:
        """The last `count` bytes of the output."""
        try:
            with self.path.open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - count))
                return file.read().decode(errors="replace")
        except OSError:
            return ""

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)


def last_line(output: str) -> str:
    """The last line of a process's output that is not blank."""
    lines = output.strip().splitlines()
    return lines[-1].strip().rstrip(".") if lines else "no output"


def crash_output(log: Log, traceback: str = "") -> str:
    """The text to store of a crash: its traceback, then the end of the process's output."""
    printed = log.tail(CRASH_BYTES).strip()
    parts = {"Raised": traceback.strip(), "Printed": printed or "nothing"}
    return "\n".join(f"{title}:\n\n{text}\n" for title, text in parts.items() if text)


MORE_MEMORY = "raise --memory or shorten the sequence"


def exit_cause(code: int | None, output: str, near: str | None, *, killed: bool = False) -> Ended:
    """The cause of death of a process that sent no reply.

    `code` is its exit code, negative for a signal, None if unknown; `output` the end of its output; `near`
    how close it came to its memory limit; `killed` whether the kernel's OOM killer has just acted.
    """
    lines = [line for line in map(clean_line, output.splitlines()) if line]
    quote = f': "{lines[-1][:200]}"' if lines else ""
    if killed and code == -signal.SIGKILL:
        what, remedy = "the kernel killed it because the machine was out of memory", Remedy.LESS_MEMORY
        return Ended("oom", f"{what}; {remedy}", died_of=what, remedy=remedy)
    if near or reports_oom(output):
        what = f"it died {near}" if near else f"it died{quote}"
        return Ended("oom", f"{what}; {MORE_MEMORY}", died_of=what)
    if code is None:
        what = f"it ended with its server{quote}"
    elif code < 0:
        what = f"killed by {_name(-code)}{quote}"
    else:
        what = f"it ended with exit code {code} instead of a reply{quote}"
    return Ended("crashed", f"{what}; run only this case to see why", died_of=what)


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"  # a real-time signal has no name
