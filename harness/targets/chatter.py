"""What a compiler prints while it works: kept from the user, but for what changes the meaning of figures."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager

LINE = re.compile(r"^[IWEF]\d{4} [\d:.]+\s+\d+ (?P<file>\S+?):\d+\] (?P<said>.*)$")
ANOTHER_PROGRAM = re.compile(
    r"fallback|fall(?:s|ing)? back|which will be slower|instead of|rematerialization", re.IGNORECASE
)
LENGTH = 240
ONCE = {"sort_rewriter.cc": re.compile(r"\bsort\(")}  # said of the first program alone; who else it holds for


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


class Ear:
    """Hears of every program that a process compiles, and of which the compiler took another one.

    Some sentences a compiler says once in its life: they are repeated for every later program that they
    hold for.
    """

    def __init__(self) -> None:
        self.once: dict[str, str] = {}

    def warnings(self, said: str, program: Callable[[], str]) -> tuple[str, ...]:
        """The sentences, each once; `program` gives the optimised module's text where it is needed."""
        found = [match for line in said.splitlines() if (match := LINE.match(line))]
        told = [match for match in found if ANOTHER_PROGRAM.search(match["said"])]
        sentences = [_sentence(match["said"]) for match in told]
        if self.once:
            text = program()
            sentences += [sentence for file, sentence in self.once.items() if ONCE[file].search(text)]
        self.once |= {match["file"]: _sentence(match["said"]) for match in told if match["file"] in ONCE}
        return tuple(dict.fromkeys(sentences))


def _sentence(said: str) -> str:
    return f"the compiler says: {said.strip()[:LENGTH]}"
