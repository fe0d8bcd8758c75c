"""What stands below the tables of targets: longest lengths, equal programs, transfers between devices."""

from harness.core.static_figures import Collective
from harness.report.memory_limit import limit_of
from harness.report.tables.max_seq import largest_table, planned_lengths
from harness.report.tables.target_lines import collective_lines, program_lines

K = 1024
GIB = 2**30


def test_the_largest_length_that_fits():
    found = [
        {"suite": "mask", "implementation": "mask/a", "panel": "p", "target": target, **bounds}
        for target, bounds in {
            "host": {"seq": 26 * K, "beyond": 28 * K, "reason": None},
            "tpu:v5e": {"seq": None, "beyond": K, "reason": "the shortest does not fit"},
            "tpu:v5p": {"seq": 1024 * K, "beyond": None, "reason": "the longest tried"},
            "cuda:h200": {"seq": None, "beyond": None, "reason": "not installed"},
        }.items()
    ]
    table = largest_table("mask", found, {})
    assert table is not None
    assert [cell.text for cell in table.rows[0]] == ["a", "26Ki, not 28Ki", "< 1Ki", "≥ 1Mi", "–"]
    reasons = ["the shortest does not fit", "the longest tried", "not installed"]
    assert [note for cell in table.rows[0] for note in cell.notes] == reasons
    assert largest_table("topk", found, {}).rows == ()
    tried = [{**found[0], "trials": [{"seq": 26 * K}]}]
    assert planned_lengths({"largest": [*tried, *found]}) == found


def test_equal_operators_of_eager_calls_are_called_that(suite, record, static):
    figures = {"host": static(program="sha256:1")}
    records = [record(name, 4096, static=figures, framework="torch") for name in ("broadcast", "approx")]
    assert program_lines(suite(records)) == ["Same operators on host: approx = broadcast at 4Ki"]


def test_equal_programs_share_a_line_where_targets_agree(suite, record, static):
    def figures(seq, name):
        apart = name if seq == 65536 else ""
        return {"tpu:v5p": static(program=f"{seq}{apart}"), "tpu:v6e": static(program=f"{seq}")}

    cases = [(name, seq) for seq in (4096, 16384, 65536) for name in ("broadcast", "approx")]
    records = [record(name, seq, static=figures(seq, name)) for name, seq in cases]
    same = ("tpu:v5p: approx = broadcast at 4Ki, 16Ki", "tpu:v6e: approx = broadcast at 4Ki, 16Ki, 64Ki")
    assert program_lines(suite(records)) == [f"Same program on {line}" for line in same]
    (line,) = program_lines(suite(records[:4]))
    assert line == "Same program on tpu:v5p, tpu:v6e: approx = broadcast at 4Ki, 16Ki"


def test_transfers_between_devices_have_their_bytes(suite, record, static):
    moved = static(collectives=(Collective("all-gather", 1, 32 * 2**20), Collective("all-reduce", 2, 4096)))
    found = suite([record("sharded", seq, static={"tpu:v5p:4x4x8": moved}) for seq in (4096, 8192)])
    assert collective_lines(found) == [
        "Collectives on tpu:v5p:4x4x8: sharded at 4Ki, 8Ki: all-gather ×1, 32.0 MiB; all-reduce ×2, 4.00 KiB"
    ]


def test_the_hosts_limit_is_the_runs_and_an_accelerators_its_memory():
    info = {"settings": {"memory_bytes": 18}, "suites": {"mask": {"settings": {"memory_bytes": 4}}}}
    assert (limit_of(info, "mask", "host"), limit_of(info, "topk", "host")) == (4, 18)
    assert limit_of(info, "mask", "tpu:v5p") == 95 * GIB
    assert limit_of({}, "mask", "host") is limit_of({}, "mask", "tpu:v99") is None
