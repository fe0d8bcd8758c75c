"""Conversion of plain data: safe in several threads, which a plain msgspec.convert is not."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
CONVERT_AT_ONCE = """\
import sys, threading
from dataclasses import make_dataclass
from harness.core.plain_data import from_plain

sys.setswitchinterval(1e-6)
names = [f"f{i}" for i in range(8)]
for number in range(100):
    inner = make_dataclass("Inner", [(name, "int | None") for name in names])
    outer = make_dataclass("Outer", [("one", inner), ("more", tuple[inner, ...])])
    data = {"one": dict.fromkeys(names, 7), "more": []}
    start = threading.Barrier(4)

    def ask():
        start.wait()
        assert from_plain(outer, data).one.f7 == 7

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


def test_threads_may_convert_a_new_class_concurrently():
    """Without a lock the process ends by a segmentation fault, so another process tries."""
    done = subprocess.run(
        [sys.executable, "-c", CONVERT_AT_ONCE], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
