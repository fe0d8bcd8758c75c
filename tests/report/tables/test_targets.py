"""Targets side by side. The figures of the mask are design.md's: rows = keys = 16Ki, in round numbers."""

import io
from pathlib import Path

from rich.console import Console

from harness.report.memory_limit import limit_of
from harness.report.tables.render import print_tables
from harness.report.tables.targets import (
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


def test_the_hosts_limit_is_the_runs_and_an_accelerators_its_memory():
    info = {"settings": {"memory_bytes": 18}, "suites": {"mask": {"settings": {"memory_bytes": 4}}}}
    assert (limit_of(info, "mask", "host"), limit_of(info, "topk", "host")) == (4, 18)
    assert limit_of(info, "mask", "tpu:v5p") == 95 * GIB
    assert limit_of({}, "mask", "host") is limit_of({}, "mask", "tpu:v99") is None
