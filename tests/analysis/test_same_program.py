import json
from dataclasses import asdict

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


def test_a_workload_field_that_changes_nothing_is_named(record, suite, static):
    figures = {"host": compiled(static, "sha256:a")}
    records = [record("approx", 4096, static=figures, workload={"recall": recall}) for recall in (0.95, 1.0)]
    (same,) = same_programs(suite(records))
    assert same.text == "approx[recall 0.95 = recall 1]"


def test_what_differs_alike_in_all_implementations_is_said_once(record, suite, static):
    records = [
        record(name, 4096, static={"host": compiled(static, "sha256:a")}, workload={"recall": recall})
        for recall in (0.8, 0.95)
        for name in ("approx", "exact")
    ]
    (same,) = same_programs(suite(records))
    assert same.text == "approx = exact [recall 0.8 = recall 0.95]"


def test_settings_stand_with_their_implementation_where_they_differ(record, suite, static):
    figures = {"static": {"host": compiled(static, "sha256:a")}}
    records = [
        record("approx", 4096, workload={"recall": 1.0}, **figures),
        record("exact", 4096, workload={"recall": 0.95}, **figures),
        record("exact", 4096, workload={"recall": 1.0}, **figures),
    ]
    (same,) = same_programs(suite(records))
    assert same.text == "approx[recall 1] = exact[recall 0.95 = recall 1]"


def test_options_and_modes_set_cases_apart_too(record, suite, static):
    figures = {"static": {"host": compiled(static, "sha256:a")}}
    more = ({"options": {"keep": 1}}, {"options": {"keep": 2}, "mode": "fwd_bwd"})
    records = [record("two_stage", 4096, **one, **figures) for one in more]
    (same,) = same_programs(suite(records))
    assert same.text == "two_stage[keep=1][mode fwd] = two_stage[keep=2][mode fwd_bwd]"


def test_a_field_that_joined_later_has_its_default(record, suite, static):
    figures = {"static": {"host": compiled(static, "sha256:a")}}
    records = [record("a", 4096, **figures), record("a", 4096, workload={"devices": 2}, **figures)]
    (same,) = same_programs(suite(records))
    assert same.text == "a[devices by default = devices 2]"


def test_lengths_targets_replicates_and_what_has_no_hash_make_no_group(record, suite, static):
    records = [
        record("a", 4096, static={"host": compiled(static, "sha256:a")}),
        record("a", 4096, static={"host": compiled(static, "sha256:a")}, replicate=1),
        record("b", 8192, static={"host": compiled(static, "sha256:a")}),
        record("c", 4096, static={"tpu:v5p": compiled(static, "sha256:a")}),
        record("d", 4096, static={"host": compiled(static, None)}),
        record("e", 4096, static={"host": compiled(static, None)}),
    ]
    assert same_programs(suite(records)) == []
