"""The compiler's log: hidden, except for lines that change what the figures mean."""

import os
import re
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager

LINE = re.compile(r"^[IWEF]\d{4} [\d:.]+\s+\d+ (?P<file>\S+?):\d+\] (?P<said>.*)$")
ANOTHER_PROGRAM = re.compile(r"(?i)fallback|falls? back|falling back|slower at runtime")
LENGTH = 240
ONCE = ("sort_rewriter.cc",)  # source files of warnings that a process prints only once


@contextmanager
def capture_stderr() -> Generator[Callable[[], str]]:
    """Capture standard error of the whole process, including native code; the yielded function reads it."""
    log, stderr = os.memfd_create("compiler-log"), os.dup(2)
    sys.stderr.flush()
    os.dup2(log, 2)

    def read() -> str:
        sys.stderr.flush()
        size = os.fstat(log).st_size
        return os.pread(log, min(size, 1 << 20), 0).decode(errors="replace")

    try:
        yield read
    finally:
        sys.stderr.flush()
        os.dup2(stderr, 2)
        os.close(stderr)
        os.close(log)


def warnings(text: str) -> tuple[str, ...]:
    """The distinct messages in which the compiler reports a fallback to another program."""
    messages = (match["said"] for match in _lines(text) if ANOTHER_PROGRAM.search(match["said"]))
    return tuple(dict.fromkeys(f"the compiler says: {message.strip()[:LENGTH]}" for message in messages))


def has_one_time_warning(text: str) -> bool:
    """Whether the log has a warning that this process will not print again for later programs."""
    return any(match["file"] in ONCE for match in _lines(text))


def _lines(text: str) -> list[re.Match[str]]:
    return [match for line in text.splitlines() if (match := LINE.match(line))]
