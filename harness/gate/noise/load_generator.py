"""Load generator: a process that copies memory, as a neighbour on the machine might while a gate runs."""

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager

BYTES = 1 << 26  # more than a cache holds
END_SECONDS = 5.0
# Its standard input closes when the process that started it ends, however that happens.
STREAM = f"""
import select, sys
source, target = bytearray({BYTES}), bytearray({BYTES})
while not select.select([sys.stdin], [], [], 0)[0]:
    target[:] = source
"""


@contextmanager
def load_generators(count: int) -> Generator[None]:
    """Run `count` load generators while the block runs."""
    command = [sys.executable, "-c", STREAM]
    busy = [subprocess.Popen(command, stdin=subprocess.PIPE) for _ in range(count)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait(END_SECONDS)
