"""Targets side by side. The figures of the mask are design.md's: rows = keys = 16Ki, in round numbers."""

import io
from pathlib import Path

from rich.console import Console

from harness.core.record import Cost
from harness.report.memory_limit import limit_of
from harness.report.tables.max_seq import largest_table, planned_lengths
from harness.report.tables.render import print_tables
from harness.report.tables.targets import (
    detail_table,
    targets_table,
)
from tests.report.conftest import page

GOLDEN = Path(__file__).parents[2] / "golden"
GIB = 2**30
LIMITS = {"host": 18 * GIB, "tpu:v5e": 16 * GIB}


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


def test_the_narrower_the_fewer_columns_but_temporaries_stay(suite, mask):
    text = print_text(table_of(suite(mask)), width=70)
    assert max(map(len, text.splitlines())) <= 70
    assert text.splitlines()[3].split() == [
        "seq", "implementation", "temp", "temp/base", "fits", "temp", "temp/base",
    ]  # fmt: skip
    said = "Too narrow for: FLOPs of host, tpu:v5e; fits of tpu:v5e; --json has them."
    assert said in " ".join(text.split())


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


def test_the_hosts_limit_is_the_runs_and_an_accelerators_its_memory():
    info = {"settings": {"memory_bytes": 18}, "suites": {"mask": {"settings": {"memory_bytes": 4}}}}
    assert (limit_of(info, "mask", "host"), limit_of(info, "topk", "host")) == (4, 18)
    assert limit_of(info, "mask", "tpu:v5p") == 95 * GIB
    assert limit_of({}, "mask", "host") is limit_of({}, "mask", "tpu:v99") is None
