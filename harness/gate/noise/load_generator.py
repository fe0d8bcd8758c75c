"""A neighbour on the same machine: a process that streams through memory, to see what it does to a gate."""

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager

BYTES = 1 << 26  # more than a cache holds
END_SECONDS = 5.0
# It copies one large buffer onto another until its input closes: then the process that started it is gone.
STREAM = f"""
import select, sys
source, target = bytearray({BYTES}), bytearray({BYTES})
while not select.select([sys.stdin], [], [], 0)[0]:
    target[:] = source
"""


@contextmanager
def load_generators(count: int) -> Generator[None]:
    """Run `count` load generators for as long as the block."""
    command = [sys.executable, "-c", STREAM]
    busy = [subprocess.Popen(command, stdin=subprocess.PIPE) for _ in range(count)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait(END_SECONDS)
