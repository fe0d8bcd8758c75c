"""A neighbour on the same machine: a process that streams through memory, to see what it does to a gate.

`python -m harness.gate.noise.load_generator` copies one large buffer onto another until its
standard input closes, as it does when the process that started it is gone.
"""

from __future__ import annotations

import select
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager

from harness.catalog import child_process

BYTES = 1 << 26  # more than a cache holds
END_SECONDS = 5.0


@contextmanager
def load_generators(count: int) -> Generator[None]:
    """Run `count` load generators for as long as the block."""
    busy = [
        subprocess.Popen(
            [sys.executable, "-m", "harness.gate.noise.load_generator"],
            stdin=subprocess.PIPE,
            env=child_process.environment(),
        )
        for _ in range(count)
    ]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait(END_SECONDS)


def stream() -> None:
    source, target = bytearray(BYTES), bytearray(BYTES)
    while not select.select([sys.stdin], [], [], 0)[0]:
        target[:] = source


if __name__ == "__main__":
    stream()
