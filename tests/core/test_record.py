import json
from dataclasses import replace

import pytest

from harness.core.plain_data import from_plain
from harness.core.record import Correctness, Record, Timing
from harness.core.static_figures import LATER_FIGURES, STATIC_FIGURES, Static

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


def test_another_schema_and_a_missing_field_are_refused():
    with pytest.raises(ValueError, match="schema 2 is not 1"):
        Record.from_json({**EXAMPLE, "schema": 2})
    with pytest.raises(ValueError, match="not a record"):
        Record.from_json({name: value for name, value in EXAMPLE.items() if name != "seq"})


PASSED = RECORD.correctness
FAILED = Correctness("exact", False, "whole", {"mismatches": 1})


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"status": "fine"}, "is none of"),
        ({"status": "oom", "timing": None}, "without a reason"),
        ({"status": "oom", "reason": "too large"}, "timing without a passed contract"),
        ({"correctness": None}, "timing without a passed contract"),
        ({"correctness": FAILED}, "timing without a passed contract"),
        ({"correctness": FAILED, "timing": None}, "ok with a failed contract"),
        ({"status": "incorrect", "reason": "wrong", "timing": None}, "incorrect without a failed contract"),
        (
            {"status": "incorrect", "reason": "wrong", "timing": None, "correctness": None},
            "incorrect without a failed contract",
        ),
    ],
)
def test_status_and_evidence_agree_or_there_is_no_record(change, says):
    with pytest.raises(ValueError, match=says):
        replace(RECORD, **change)


@pytest.mark.parametrize(
    ("status", "correctness", "expected", "unexpected"),
    [
        ("ok", PASSED, False, False), ("ok", PASSED, True, True), ("incorrect", FAILED, True, False),
        ("incorrect", FAILED, False, True), ("oom", None, True, False), ("timeout", None, False, False),
    ],
)  # fmt: skip
def test_what_was_not_expected(status, correctness, expected, unexpected):
    reason = None if status == "ok" else "because"
    change = {"status": status, "reason": reason, "correctness": correctness, "expected": expected}
    assert replace(RECORD, timing=None, **change).unexpected is unexpected


@pytest.mark.parametrize("value", [-1, -0.5, float("nan")])
@pytest.mark.parametrize("name", ["flops", "generated_code_bytes", "optimal_s"])
def test_no_figure_is_negative(name, value):
    figures = dict.fromkeys(STATIC_FIGURES, 0)
    with pytest.raises(ValueError, match="stands for unavailable"):
        Static(**{**figures, name: value})


def test_a_figure_that_joined_later_is_unavailable_where_nothing_gave_it():
    figures = dict.fromkeys(STATIC_FIGURES, 0)
    assert Static(**figures).unavailable == {"generated_code_bytes": "not given", "optimal_s": "not given"}
    known = Static(**figures, optimal_s=0.5, unavailable={"generated_code_bytes": "nothing is compiled"})
    assert known.unavailable == {"generated_code_bytes": "nothing is compiled"}
    assert Static(**figures, generated_code_bytes=0, optimal_s=0.0).unavailable == {}


def test_a_missing_figure_has_its_reason():
    with pytest.raises(ValueError, match="peak_bytes is missing without a reason"):
        Static(**dict.fromkeys(set(STATIC_FIGURES) - {"peak_bytes"}, 0))
    nothing = Static.none("not compiled")
    assert set(nothing.unavailable) == {*STATIC_FIGURES, *LATER_FIGURES, "program"}
    assert nothing.planned_bytes is None
    host = RECORD.to_json()["static"]["host"]
    assert from_plain(Static, json.loads(json.dumps(host))) == RECORD.static["host"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"samples_s": (), "round": ()}, "needs samples"),
        ({"samples_s": (1.0, 2.0)}, "each with its round"),
        ({"samples_s": (0.0,)}, "positive"),
        ({"samples_s": (float("inf"),)}, "positive"),
        ({"method": "sundial"}, "wall, cuda_events, cupti, cuda_graph"),
        ({"cache": "cold"}, "rotated, flushed, warm"),
        ({"stopped": "bored"}, "interval, budget, interrupted"),
    ],
)
def test_a_timing_holds_readings(change, says):
    assert isinstance(RECORD.timing, Timing)
    with pytest.raises(ValueError, match=says):
        replace(RECORD.timing, **change)


@pytest.mark.parametrize(
    "changed",
    [
        {"implementation": "scatter"}, {"family": "topk"}, {"implementation": "mask/broadcast"},
        {"seq": 8192}, {"workload": {"batch": 1}}, {"mode": "bwd"}, {"device": "cuda"},
        {"cost": {"flops": -1}}, {"cost": {"bytes": 1e999}},
    ],
    ids=str,
)  # fmt: skip
def test_a_record_whose_fields_are_of_another_case_cannot_be_read(changed):
    Record.from_json(EXAMPLE)
    with pytest.raises(ValueError, match=r"not a record: .*(another case than its fields say|a cost of)"):
        Record.from_json({**EXAMPLE, **changed})
