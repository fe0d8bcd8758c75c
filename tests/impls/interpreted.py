"""`seqsweep run` of a Triton implementation on the cpu: interpreted, and its answers judged."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def interpret(folder, family, name, seq, *words, **axes):
    """The records of these lengths, with axes as lists of values."""
    pytest.importorskip("triton")
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
        timeout=120,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return json.loads(done.stdout)["records"]


def assert_right(records, cases):
    """As many cases as expected, and each answer within its contract."""
    assert len(records) == cases
    for record in records:
        assert record["status"] == "planned", (record["workload"], record["reason"])
        assert record["correctness"]["passed"], record["workload"]
