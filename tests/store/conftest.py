"""Records as runs hold them, and a folder to put them in."""

from datetime import UTC, datetime

import pytest

from harness.core.record import Cost, Memory
from harness.store import jsonl
from harness.store.runs import RunFolder, new_run_id
from tests.records import PASSED, record_of, static_of, timing_of

RUN = new_run_id(datetime(2026, 11, 20, 11, 30, tzinfo=UTC), "tests")


def make(seq=1024, name="scatter", **changed):
    values = {
        "run": RUN,
        "correctness": PASSED,
        "timing": timing_of((1e-3, 2.5e-3)),
        "static": {"host": static_of(argument_bytes=8, unavailable={"flops": "no compiler"})},
        "cost": Cost(flops=1e20),
        "memory": Memory(4096),
        "started": "2026-11-20T11:30:00Z",
        "wall_s": 0.8,
    }
    return record_of(name, seq, **{**values, **changed})


@pytest.fixture
def record():
    return make


@pytest.fixture
def folder(tmp_path):
    return RunFolder.create(tmp_path / "results", RUN, {"schema": 1, "run": RUN})


def encode(record):
    """The lines of an append of only this record."""
    return jsonl.encode([record])


def decode(text):
    """The record of these lines. ValueError with the problem of the first that has one."""
    read = list(jsonl.lines(text.splitlines() if b'\n{"' in text else [text]))
    for line in read:
        if line.problem:
            raise ValueError(line.problem)
    (record,) = [line.record for line in read if line.record]
    return record
