"""The compiler's log: kept from the user, but for lines that change what the figures mean."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager

LINE = re.compile(r"^[IWEF]\d{4} [\d:.]+\s+\d+ (?P<file>\S+?):\d+\] (?P<said>.*)$")
ANOTHER_PROGRAM = re.compile(r"(?i)fallback|falls? back|falling back|slower at runtime")
LENGTH = 240
ONCE = ("sort_rewriter.cc",)  # say it of the first program that it holds for, and never again


@contextmanager
def captured() -> Generator[Callable[[], str]]:
    """What any code of this process writes to its standard error meanwhile; the yielded call reads it."""
    kept, before = os.memfd_create("chatter"), os.dup(2)
    sys.stderr.flush()
    os.dup2(kept, 2)

    def read() -> str:
        sys.stderr.flush()
        size = os.fstat(kept).st_size
        return os.pread(kept, min(size, 1 << 20), 0).decode(errors="replace")

    try:
        yield read
    finally:
        sys.stderr.flush()
        os.dup2(before, 2)
        os.close(before)
        os.close(kept)


def warnings(text: str) -> tuple[str, ...]:
    """The sentences in which a compiler says that it took another program, each once."""
    told = (match["said"] for match in _lines(text) if ANOTHER_PROGRAM.search(match["said"]))
    return tuple(dict.fromkeys(f"the compiler says: {said.strip()[:LENGTH]}" for said in told))


def spent(text: str) -> bool:
    """Whether something was said that this process will not say again, of whatever program."""
    return any(match["file"] in ONCE for match in _lines(text))


def _lines(text: str) -> list[re.Match[str]]:
    return [match for line in text.splitlines() if (match := LINE.match(line))]
