"""Kernels judged as a user has them judged: by `seqsweep run`, interpreted on the cpu."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
KERNELS = [
    pytest.mark.torch,
    pytest.mark.skipif(find_spec("triton") is None, reason="the extra triton is not installed"),
]


def interpret(folder, family, name, seq, *words, **axes):
    """The records of these lengths, with axes as lists of values."""
    settings = [text for axis, values in axes.items() for text in ("--set", f"{axis}={values}")]
    done = subprocess.run(
        [
            *(sys.executable, str(ROOT / "cli.py"), "run", family, "--impl", name),
            *("--seq", seq, "--json", *settings, *words),
        ],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return json.loads(done.stdout)["records"]


def assert_right(records, cases):
    """As many cases as expected, planned since an interpreter has no time, each within its contract."""
    assert len(records) == cases
    for record in records:
        assert record["status"] == "planned", (record["workload"], record["reason"])
        assert record["correctness"]["passed"], record["workload"]
