import json
from dataclasses import replace

import pytest

from harness.core.record import Correctness, Record
from harness.core.static_figures import LATER_FIGURES

EXAMPLE = json.loads("""
{"schema": 1, "run": "20261120T113000Z-1a2b3c4",
 "case": "mask/scatter@batch=1,dtype=f32,rows=128,seq=16384,topk=2048:fwd:cpu",
 "family": "mask", "implementation": "mask/scatter", "semantics": "exact", "options": {},
 "framework": "jax", "device": "cpu", "mode": "fwd", "seq": 16384,
 "workload": {"batch": 1, "dtype": "f32", "rows": 128, "seq": 16384, "topk": 2048},
 "seed": 0, "baseline": false, "side": null, "replicate": 0,
 "status": "ok", "reason": null, "expected": false,
 "correctness": {"contract": "exact", "passed": true, "coverage": "whole", "figures": {"mismatches": 0}},
 "timing": {"samples_s": [0.00033], "round": [0], "median_s": 0.00033, "low_s": 0.00032, "high_s": 0.00035,
  "method": "wall", "cache": "rotated", "inner": 3, "stopped": "interval", "discarded": 0, "warnings": []},
 "static": {"host": {"argument_bytes": 0, "output_bytes": 0, "temp_bytes": 0, "alias_bytes": 0,
  "peak_bytes": null, "flops": 0, "flops_source": "compiled", "bytes_accessed": 0, "program": "sha256:…",
  "custom_calls": [], "lower_s": 0.02, "compile_s": 0.1, "fits": true,
  "unavailable": {"peak_bytes": "XLA's figure for this backend leaves temporaries out"}}},
 "cost": {"flops": 0, "bytes": 0, "dense_flops": 0}, "memory": {"high_water_bytes": 0},
 "profile": null, "source": "sha256:…", "fingerprint": "sha256:…", "environment": "sha256:…",
 "started": "2026-11-20T11:30:00Z", "wall_s": 0.8, "crc32": "…"}
""")
RECORD = Record.from_json(EXAMPLE)
NOT_TAKEN = ("latency_s", "latency_low_s", "latency_high_s", "queued", "other_load")


def test_the_documented_record_survives_the_round_trip():
    again = json.loads(json.dumps(RECORD.to_json()))
    assert Record.from_json(again) == RECORD
    assert next(iter(again)) == "schema"
    host = EXAMPLE["static"]["host"]
    later = dict.fromkeys(LATER_FIGURES)
    unavailable = {**host["unavailable"], **dict.fromkeys(LATER_FIGURES, "not given")}
    joined = {key: [] for key in ("collectives", "kernels", "tpu_kernels")}
    joined |= {"overflow": None, "owners": None, "body_only": False, "opcodes": {}}
    added = {"warnings": [], **later, "unavailable": unavailable, **joined}
    assert again == {
        **{name: value for name, value in EXAMPLE.items() if name != "crc32"},
        "timing": {**EXAMPLE["timing"], "gpu": [], **dict.fromkeys(NOT_TAKEN)},
        "static": {"host": {**host, **added}},
        "bound": "",
        "checks": [],
        "facts": {},
        "crash_file": "",
        "kernels_run": [],
        "kernels_unknown": "",
    }


def test_figures_that_only_earlier_versions_had_are_left_out():
    graphs = {"replay_s": [1e-5], "eager_s": [2e-5], "method": "graph_events", "cache": "flushed"}
    cold = {"steps": {"import": [1.0]}, "missing": {}, "later": 10}
    stages = [{"stage": "", "entered": 1, "operators": 2, "flops": 0, "bytes": 4}]
    static = {"host": {**EXAMPLE["static"]["host"], "stages": stages}}
    assert Record.from_json({**EXAMPLE, "graphs": graphs, "cold": cold, "static": static}) == RECORD


PASSED = RECORD.correctness
FAILED = Correctness("exact", False, "whole", {"mismatches": 1})


@pytest.mark.parametrize(
    ("status", "correctness", "expected", "unexpected"),
    [
        ("ok", PASSED, False, False), ("ok", PASSED, True, True), ("incorrect", FAILED, True, False),
        ("incorrect", FAILED, False, True), ("oom", None, True, False), ("timeout", None, False, False),
    ],
)  # fmt: skip
def test_unexpected_results_are_marked(status, correctness, expected, unexpected):
    reason = None if status == "ok" else "because"
    change = {"status": status, "reason": reason, "correctness": correctness, "expected": expected}
    assert replace(RECORD, timing=None, **change).unexpected is unexpected
