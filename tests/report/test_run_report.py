"""Whole pages of text, compared with golden files."""

import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from harness.analysis.roofline import known_rooflines
from harness.core.record import Correctness
from harness.report.memory_limit import limit_of
from harness.report.run_report import print_run
from harness.store.runs import RunFolder
from tests.goldens import assert_golden
from tests.records import timing_of
from tests.report.conftest import GIB, info_of, page, record_of

KEPT = sorted((Path(__file__).parents[2] / "results/reference").iterdir())
OVERHEAD = {
    "wall_s": 252.0, "work_s": 206.6, "share": 0.82, "compile_s": 28.0, "contract_s": 22.6, "other_s": 5.4,
    "samples_s": 156.0, "startup_s": 40.0, "startup_per_case_s": 0.11,
}  # fmt: skip


@pytest.mark.parametrize(("width", "notes"), [(80, False), (100, False), (160, False), (160, True)])
def test_the_page_of_a_run(info, run, width, notes):
    problems = ["records.jsonl:17: cut off; the line was left out"]
    text = page({**info, "overhead": OVERHEAD}, run, width, problems=problems, notes=notes)
    name = f"run_{width}_notes.txt" if notes else f"run_{width}.txt"
    assert_golden(name, text)


def test_a_terminal_gets_colours(info, run):
    out = io.StringIO()
    print_run(Console(file=out, width=120, force_terminal=True, color_system="standard"), info, run)
    assert "\x1b[32m" in out.getvalue()


def test_every_reason_has_its_footnote_and_equal_ones_share_it(record, describe):
    wrong = {"correctness": Correctness("exact", False, "whole")}
    good = record("a", 4096, timing=timing_of([1.0] * 6))
    reasons = {"b": "rows differ", "c": "NaN", "d": "rows differ"}
    bad = [record(name, 4096, "incorrect", reason=why, **wrong) for name, why in reasons.items()]
    text = page(describe([good, *bad], None), [good, *bad])
    assert re.findall("INCORRECT([¹²])", text) == ["¹", "¹", "²", "²", "¹", "¹"]
    assert "¹ incorrect: rows differ\n² incorrect: NaN\n" in text
    assert "more footnotes" not in text, "nothing is left out"


def test_a_quick_run_starts_with_the_note_that_it_is_noisy(info, run):
    first = page({**info, "command": ["seqsweep", "run", "--quick"]}, run).splitlines()[0]
    assert first.startswith("--quick is noisy:")
    assert "noisy" not in page(info, run)


@pytest.mark.parametrize("kept", KEPT, ids=[path.name for path in KEPT])
def test_a_reference_run_fits_80_columns(kept):
    folder = RunFolder(kept)
    stored = folder.read()
    text = page({**stored.info, "fingerprints": folder.fingerprints()}, stored.records, 80)
    tables = re.split(r"\n(out of memory|far from its bound|next:)", text)[0]
    assert max(map(len, tables.splitlines())) <= 80
    assert "…" not in re.sub(r"HLO\s+(module:\s+)?…", "", tables)  # where a footnote cuts a compiler's words


def test_a_case_far_from_its_bound_has_the_command_that_plans_it():
    folder = RunFolder(KEPT[-1])
    stored, known = folder.read(), {"rooflines": known_rooflines(folder.path)}
    text = page({**stored.info, "fingerprints": folder.fingerprints(), **known}, stored.records, 200)
    assert "triton_nsa[atomic=false,fused=true] reaches 3.1 % of its bound at 4Ki (compute).\n" in text
    assert "--impl 'triton_nsa[atomic=false,fused=true]' --seq 4Ki --target cuda:h100\n" in text


def test_the_default_sweep_has_few_footnotes_and_every_panel_its_answer():
    folder = RunFolder(next(run for run in KEPT if len(RunFolder(run).info["suites"]) == 7))
    stored = folder.read()
    text = page({**stored.info, "fingerprints": folder.fingerprints()}, stored.records, 80)
    footnotes = re.findall(r"^([¹²³⁴⁵⁶⁷⁸⁹⁰]+) ", text, re.MULTILINE)
    assert len(footnotes) <= 12
    assert set(footnotes) <= set("¹²³⁴⁵")
    panels = text.count(" on cpu") + text.count(" on\ncpu") + text.count("\non cpu")
    assert text.count("\nFastest at ") == text.count("\nFastest per length: ") == panels == 7


def test_a_run_without_records_suggests_a_dry_run():
    assert page({"suites": {}}, []) == "no case was run; seqsweep run --dry-run shows why\n"


def static_info(records, targets, **more):
    settings = {"memory_bytes": 18 * GIB}
    return {
        **info_of(records, "mask/broadcast"),
        "depth": "static",
        "targets": targets,
        "settings": settings,
        **more,
    }


@pytest.mark.parametrize("width", [70, 140])
def test_the_page_of_a_run_that_compiled_for_targets(mask, width):
    """The figures of the mask are design.md's: rows = keys = 16Ki, in round numbers."""
    text = page(static_info(mask, ["host", "tpu:v5e"]), mask, width)
    assert_golden(f"static_{width}.txt", text)
    assert max(map(len, text.partition("\nnext")[0].splitlines())) <= width


def test_times_are_above_the_tables_of_targets(plan_static):
    both = {"host": plan_static(8), "tpu:v5e": plan_static(8)}
    records = [record_of("broadcast", 4096, timing=timing_of([1.0] * 6), static=both)]
    text = page(static_info(records, ["host", "tpu:v5e"], depth="run"), records)
    assert text.index("fwd on cpu") < text.index("fwd compiled for 2 targets")
    alone = [replace(records[0], static={"host": plan_static(8)})]
    assert "more figures for" not in page(static_info(alone, ["host"], depth="run"), alone)
    assert "more figures for host" in page(static_info(alone, ["host"]), alone)


def test_the_host_has_the_runs_limit_and_an_accelerator_its_memory():
    info = {"settings": {"memory_bytes": 18}, "suites": {"mask": {"settings": {"memory_bytes": 4}}}}
    assert (limit_of(info, "mask", "host"), limit_of(info, "topk", "host")) == (4, 18)
    assert limit_of(info, "mask", "tpu:v5p") == 95 * GIB
    assert limit_of({}, "mask", "host") is limit_of({}, "mask", "tpu:v99") is None
