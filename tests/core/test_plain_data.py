"""Conversion of plain data: safe in several threads, which a plain msgspec.convert is not."""

import subprocess
import sys
from pathlib import Path

from harness.core.plain_data import differences

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


def test_threads_may_ask_for_a_class_that_none_has_asked_for_before():
    """Without a lock the process ends by a segmentation fault, so another process tries."""
    done = subprocess.run(
        [sys.executable, "-c", CONVERT_AT_ONCE], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


BEFORE = {"threads": 2, "versions": {"jax": "1", "torch": "2"}, "axes": {"seq": [1, 2]}, "gone": True}


def test_what_differs_has_a_dotted_name_and_both_values():
    now = {"new": None, "axes": {"seq": [1]}, "versions": {"jax": "3", "torch": "2"}, "threads": 1, "more": 5}
    changed = [("threads", 2, 1), ("versions.jax", "1", "3"), ("axes.seq", [1, 2], [1])]
    assert list(differences(BEFORE, now)) == [*changed, ("gone", True, None), ("more", None, 5)]
