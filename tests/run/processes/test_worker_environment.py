"""The environment variables that make workers behave equally."""

import platform
import subprocess
import sys

import pytest

from harness.run.processes.fork_client import worker_environment

FAULTS = """
import resource
import numpy as np

def call():
    return [np.ones(size, np.uint8) for size in (1 << 20, 3 << 20, 24 << 20)]

call()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    call()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another allocator than glibc's")
def test_freed_memory_is_reused_by_the_next_call():
    said = subprocess.run(
        [sys.executable, "-c", FAULTS],
        env=worker_environment("cpu"),
        capture_output=True,
        check=True,
        text=True,
    )
    assert int(said.stdout) < 100, "pages fault in again, of 7000 that a call has"
