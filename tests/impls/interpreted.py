"""Kernels judged as a user has them judged: by `seqsweep run`, interpreted on the cpu."""

import json
import os
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.cli.forked import call_forked

ROOT = Path(__file__).resolve().parents[2]
KERNELS = [
    pytest.mark.torch,
    pytest.mark.skipif(find_spec("triton") is None, reason="the extra triton is not installed"),
]


def interpret(folder, family, name, seq, *words, **axes):
    """The records of these lengths, with axes as lists of values."""
    settings = [text for axis, values in axes.items() for text in ("--set", f"{axis}={values}")]
    command = ["run", family, "--impl", name, "--seq", seq, "--json", *settings, *words]
    _, out, err = call_forked(folder, command, {**os.environ, "TMPDIR": str(folder)}, seconds=600)
    assert "Traceback" not in err, err
    return json.loads(out)["records"]


def assert_right(records, cases):
    """As many cases as expected, planned since an interpreter has no time, each within its contract."""
    assert len(records) == cases
    for record in records:
        assert record["status"] == "planned", (record["workload"], record["reason"])
        assert record["correctness"]["passed"], record["workload"]
