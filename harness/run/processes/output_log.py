"""A worker's output: kept for its last lines, and truncated before it fills the disk."""

import os
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

LIMIT_BYTES = 16 * 2**20
TAIL_BYTES = 4000
KEPT_BYTES = 1 << 18  # of a crashed process


class Log:
    def __init__(self, path: Path) -> None:
        self.path = path

    def open(self) -> BinaryIO:
        """Open for appending, so that output after a truncation lands at the beginning of the file."""
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
    """The last line that is not blank of what a process has printed."""
    lines = output.strip().splitlines()
    return lines[-1] if lines else "no word"


def crash_output(log: Log, traceback: str = "") -> str:
    """The text to keep of a crash: its traceback, then the end of what the process has printed."""
    printed = log.tail(KEPT_BYTES).strip()
    parts = {"Raised": traceback.strip(), "Printed": printed or "nothing"}
    return "\n".join(f"{title}:\n\n{text}\n" for title, text in parts.items() if text)
