import json
from dataclasses import asdict

import pytest

from harness.analysis.same_program import same_programs


def compiled(static, program):
    return static(temp_bytes=8, program=program)


def test_two_implementations_of_one_hash_are_one_program(record, suite, static):
    records = [
        record(name, seq, static={"tpu:v5p": compiled(static, f"sha256:{seq}")})
        for seq in (4096, 16384)
        for name in ("approx", "exact")
    ]
    records += [
        record("approx", 65536, static={"tpu:v5p": compiled(static, "sha256:a")}),
        record("exact", 65536, static={"tpu:v5p": compiled(static, "sha256:b")}),
    ]
    found = same_programs(suite(records))
    told = [(same.target, same.seq, same.text) for same in found]
    assert told == [("tpu:v5p", 4096, "approx = exact"), ("tpu:v5p", 16384, "approx = exact")]
    assert found[0].cases == (records[0].case, records[1].case)
    assert json.loads(json.dumps(asdict(found[0])))["program"] == "sha256:4096"


SAME = {
    "two_stage[keep=1][mode fwd] = two_stage[keep=2][mode fwd_bwd]": [
        ("two_stage", {}, {"options": {"keep": 1}}),
        ("two_stage", {}, {"options": {"keep": 2}, "mode": "fwd_bwd"}),
    ],
    "a[devices by default, recall 0.5] = a[devices 2, recall 1]": [
        ("a", {"recall": 0.5}, {}), ("a", {"devices": 2, "recall": 1.0}, {}),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("text", "cases"), SAME.items(), ids=SAME)
def test_cases_with_one_program_are_named_by_what_differs(record, suite, static, text, cases):
    figures = {"static": {"host": compiled(static, "sha256:a")}}
    records = [record(name, 4096, workload=workload, **more, **figures) for name, workload, more in cases]
    (same,) = same_programs(suite(records))
    assert same.text == text


def test_lengths_targets_replicates_and_missing_hashes_do_not_form_groups(record, suite, static):
    records = [
        record("a", 4096, static={"host": compiled(static, "sha256:a")}),
        record("a", 4096, static={"host": compiled(static, "sha256:a")}, replicate=1),
        record("b", 8192, static={"host": compiled(static, "sha256:a")}),
        record("c", 4096, static={"tpu:v5p": compiled(static, "sha256:a")}),
        record("d", 4096, static={"host": compiled(static, None)}),
        record("e", 4096, static={"host": compiled(static, None)}),
    ]
    assert same_programs(suite(records)) == []
