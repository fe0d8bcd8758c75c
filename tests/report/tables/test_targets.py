"""Targets side by side. The figures of the mask are design.md's: rows = keys = 16Ki, in round numbers."""

import io
from pathlib import Path

from rich.console import Console

from harness.core.record import Cost
from harness.core.static_figures import Collective, Static
from harness.report.memory_limit import limit_of
from harness.report.tables.max_seq import largest_table, planned_lengths
from harness.report.tables.render import print_tables
from harness.report.tables.targets import (
    collective_lines,
    detail_table,
    growth_table,
    program_lines,
    targets_table,
)
from tests.report.conftest import page
from tests.report.tables.columns import notes, texts

GOLDEN = Path(__file__).parents[2] / "golden"
GIB = 2**30
LIMITS = {"host": 18 * GIB, "tpu:v5e": 16 * GIB}
NOT_INSTALLED = "libtpu is not installed; pip install -e '.[tpu]'"
WORDS = "Ran out of memory in memory space hbm. Used 33.1G of 15.75G hbm."
ALL = ("argument_bytes", "output_bytes", "temp_bytes", "alias_bytes", "peak_bytes", "flops", "bytes_accessed")


def table_of(suite, limits=LIMITS):
    (panel,) = suite.panels.values()
    return targets_table(panel, limits)


def print_text(*tables, width=140):
    out = io.StringIO()
    print_tables(Console(file=out, width=width), *tables)
    return out.getvalue()


def static_info(describe, records, targets, **more):
    described = describe(records, "mask/broadcast")
    settings = {"memory_bytes": 18 * GIB}
    return {**described, "depth": "static", "targets": targets, "settings": settings, **more}


def test_flops_of_a_body_only_are_noted(suite, record, static):
    records = [record("broadcast", 4096, static={"tpu:v5e": static(flops=9.0, body_only=True)})]
    (note,) = notes(table_of(suite(records)), "FLOPs", 0, "")
    assert note == "body only: a loop's length is not known, so its body counts once"


def test_a_compiler_that_refuses_is_quoted(suite, record, plan_static):
    refused = Static(unavailable=dict.fromkeys((*ALL, "program"), WORDS), fits=False)
    records = [
        record("broadcast", 4096, static={"host": plan_static(8), "tpu:v5e": plan_static(8)}),
        record("scatter", 4096, static={"host": plan_static(8), "tpu:v5e": refused}),
    ]
    table = table_of(suite(records))
    assert (texts(table, "temp", "tpu:v5e")[1], texts(table, "fits", "tpu:v5e")[1]) == ("–", "no")
    assert notes(table, "fits", 1, "tpu:v5e") == [f"does not fit 16 GiB; at 4Ki: {WORDS}"]


def test_a_missing_extra_is_said_once_below(suite, record, plan_static):
    figures = {"host": plan_static(8), "tpu:v5e": Static.none(NOT_INSTALLED)}
    records = [record(name, 4096, static=figures) for name in ("broadcast", "scatter")]
    text = print_text(table_of(suite(records)))
    assert text.count(NOT_INSTALLED) == 1
    assert f"No temp, FLOPs of tpu:v5e: {NOT_INSTALLED}." in text


def test_a_case_that_was_not_compiled_says_why(suite, record, plan_static):
    both = {"host": plan_static(8), "tpu:v5e": plan_static(8)}
    records = [
        record("broadcast", 4096, static=both),
        record("scatter", 4096, static={"host": plan_static(8)}),
        record("sorted", 4096, "unsupported", reason="topk ≥ seq", static={}),
    ]
    table = table_of(suite(records))
    assert notes(table, "temp", 1, "tpu:v5e") == ["not compiled"]
    assert texts(table, "status") == ["ok", "ok", "unsupported"]
    assert notes(table, "status", 2) == ["topk ≥ seq"]
    assert "status" not in [c.title for c in table_of(suite(records[:2])).columns]


def test_what_failed_has_its_reason_with_the_status_alone(suite, record, plan_static):
    why = "topk ≥ seq"
    none = {"host": Static.none(why), "tpu:v5e": Static.none(why)}
    baseline = record("broadcast", 4096, static={"host": plan_static(8), "tpu:v5e": plan_static(8)})
    records = [baseline, record("scatter", 4096, "unsupported", reason=why, static=none)]
    table = table_of(suite(records))
    assert [cell.notes for cell in table.rows[1][:-1]] == [()] * (len(table.columns) - 1)
    assert notes(table, "status", 1) == [why]


def test_facts_are_told_of_the_targets_they_hold_on(suite, record, plan_static):
    facts = {"reduction": 0, "reduction on tpu:v5e": 6, "reduction on tpu:v5p": 6, "tail on tpu:v5e": None}
    both = {"host": plan_static(8), "tpu:v5e": plan_static(8)}
    table = table_of(suite([record("broadcast", 4096, static=both, facts=facts)]))
    assert notes(table, "implementation", 0) == ["on host: reduction: 0", "on tpu:v5e, tpu:v5p: reduction: 6"]


def test_a_doubt_about_a_figure_is_a_footnote(suite, record, plan_static):
    doubt = "the device would run another program"
    figures = {t: plan_static(8, warnings=(doubt,)) for t in ("host", "cuda:h200")}
    records = [record("broadcast", 4096, static=figures)]
    assert notes(table_of(suite(records)), "temp", 0, "cuda:h200") == [doubt]


def test_the_narrower_the_fewer_columns_but_temporaries_stay(suite, mask):
    text = print_text(table_of(suite(mask)), width=70)
    assert max(map(len, text.splitlines())) <= 70
    assert text.splitlines()[3].split() == [
        "seq", "implementation", "temp", "temp/base", "fits", "temp", "temp/base",
    ]  # fmt: skip
    said = "Too narrow for: FLOPs of host, tpu:v5e; fits of tpu:v5e; --json has them."
    assert said in " ".join(text.split())


def test_one_target_stands_in_the_title(suite, record, plan_static):
    table = table_of(suite([record("broadcast", 4096, static={"tpu:v5e": plan_static(8)})]))
    assert table.title.endswith("fwd compiled for tpu:v5e (16 GiB)")
    assert {c.group for c in table.columns} == {""}


def test_the_page_of_a_run_that_compiled_for_targets(describe, mask):
    text = page(static_info(describe, mask, ["host", "tpu:v5e"]), mask, 140)
    assert text == (GOLDEN / "static_140.txt").read_text(encoding="utf-8")


def test_a_run_for_the_host_alone_keeps_its_table(describe, record, plan_static):
    records = [record("broadcast", 4096, correctness=None, static={"host": plan_static(8)})]
    text = page(static_info(describe, records, ["host"]), records)
    assert "fwd on cpu" in text
    assert "further figures of host" in text
    ran = page({**static_info(describe, records, ["host"]), "depth": "run"}, records)
    assert "further figures" not in ran


def test_what_was_timed_keeps_its_times_above_the_targets(describe, record, timing, plan_static):
    both = {"host": plan_static(8), "tpu:v5e": plan_static(8)}
    records = [record("broadcast", 4096, timing=timing([1.0] * 6), static=both)]
    text = page({**static_info(describe, records, ["host", "tpu:v5e"]), "depth": "run"}, records)
    assert text.index("fwd on cpu") < text.index("fwd compiled for 2 targets")


def test_one_length_has_no_growth(suite, mask):
    assert growth_table(next(iter(suite(mask[:2]).panels.values()))).rows == ()


def test_a_loops_body_has_no_exponent(suite, record, static):
    records = [
        record("broadcast", seq, static={"tpu:v5e": static(flops=1.0 * seq, temp_bytes=seq, body_only=True)})
        for seq in (4096, 8192, 16384)
    ]
    found = suite(records)
    table = growth_table(next(iter(found.panels.values())))
    assert texts(table, "∝ seq^") == ["temp"]
    assert texts(table, "tpu:v5e") == ["1.00"]


def test_an_exponent_that_one_target_lacks_says_why(suite, record, static):
    def figures(seq):
        return {"host": static(flops=1.0 * seq**2), "tpu:v5e": static(flops=1.0 * seq, body_only=True)}

    found = suite([record("broadcast", seq, static=figures(seq)) for seq in (4096, 8192, 16384)])
    table = growth_table(next(iter(found.panels.values())))
    assert (texts(table, "host"), texts(table, "tpu:v5e")) == (["2.00"], ["–"])
    assert notes(table, "tpu:v5e", 0) == ["needs ≥ 2 lengths; has 0 (body only)"]


def test_the_detail_of_one_target_has_the_rest(suite, record, static):
    figures = static(
        argument_bytes=GIB, output_bytes=GIB, temp_bytes=GIB, alias_bytes=GIB, peak_bytes=3 * GIB,
        generated_code_bytes=2048, bytes_accessed=4.0 * GIB, optimal_s=0.002, lower_s=0.03, compile_s=1.2,
        custom_calls=("PartialReduce",), opcodes={"add": 3, "sort": 1, "custom-call": 1, "dot": 2},
    )  # fmt: skip
    found = suite([record("broadcast", 4096, static={"tpu:v5e": figures}, cost=Cost(flops=7.0, bytes=GIB))])
    (panel,) = found.panels.values()
    table = detail_table(panel, "tpu:v5e")
    assert {c.title: cell.text for c, cell in zip(table.columns, table.rows[0], strict=True)} == {
        "seq": "4Ki", "implementation": "broadcast", "planned": "2.00 GiB", "arguments": "1.00 GiB",
        "outputs": "1.00 GiB", "aliases": "1.00 GiB", "peak": "3.00 GiB", "code": "2.00 KiB",
        "bytes accessed": "4.00 GiB", "optimal": "2.00 ms", "FLOPs by formula": "7",
        "bytes by formula": "1.00 GiB", "lower": "30 ms", "compile": "1.2 s", "custom calls": "PartialReduce",
        "operations": "2 dot, 1 sort, 1 custom-call",
    }  # fmt: skip
    ranks = [
        {c.title: c.rank for c in detail_table(panel, "tpu:v5e", r).columns} for r in ((), ("operations",))
    ]
    assert [rank["operations"] for rank in ranks] == [14, 1]


def test_no_class_of_operations_is_none_of_them_and_no_module_is_unknown(suite, record, static):
    def operations_column(figures):
        (panel,) = suite([record("broadcast", 4096, static={"host": figures})]).panels.values()
        return texts(detail_table(panel), "operations")

    assert operations_column(static(opcodes={"add": 3})) == ["0"]
    assert operations_column(static()) == ["–"]


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
