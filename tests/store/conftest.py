"""Records as runs hold them, and a folder to put them in."""

from datetime import UTC, datetime

import pytest

from harness.core.case import Case
from harness.core.record import Correctness, Cost, Memory, Record, Timing
from harness.core.static_figures import Static
from harness.store.run_id import new_run_id
from harness.store.runs import RunFolder

RUN = new_run_id(datetime(2026, 11, 20, 11, 30, tzinfo=UTC), "tests")


def make(seq=1024, name="scatter", **changed):
    case = Case.of(f"mask/{name}", {}, {"rows": 4, "seq": seq})
    values = {
        "run": RUN,
        "case": case.id,
        "family": "mask",
        "implementation": case.implementation,
        "semantics": "exact",
        "options": {},
        "framework": "jax",
        "device": "cpu",
        "mode": "fwd",
        "seq": seq,
        "workload": {"rows": 4, "seq": seq},
        "seed": 0,
        "status": "ok",
        "correctness": Correctness("exact", passed=True, coverage="whole", figures={"mismatches": 0}),
        "timing": Timing((1e-3, 2.5e-3), (0, 1), 1.75e-3, None, None, "wall", "rotated", 1, "interval"),
        "static": {
            "host": Static(
                argument_bytes=8,
                unavailable=dict.fromkeys(
                    ("output_bytes", "temp_bytes", "alias_bytes", "peak_bytes", "flops", "bytes_accessed"),
                    "no compiler",
                ),
            )
        },
        "cost": Cost(flops=1e20),
        "memory": Memory(4096),
        "started": "2026-11-20T11:30:00Z",
        "wall_s": 0.8,
    }
    return Record(**{**values, **changed})


@pytest.fixture
def record():
    return make


@pytest.fixture
def folder(tmp_path):
    return RunFolder.create(tmp_path / "results", RUN, {"schema": 1, "run": RUN})
