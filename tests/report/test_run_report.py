"""Whole pages of text, compared with files that a person has read."""

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from harness.analysis.results import panel_of
from harness.core.record import Correctness
from harness.report.run_report import overhead_line, print_run
from harness.store.runs import RunFolder
from tests.goldens import assert_golden
from tests.records import timing_of
from tests.report.conftest import page

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


def test_a_column_is_explained_where_it_is_shown(info, run):
    narrow, rates = page(info, run, 60), "FLOP/s, B/s: the work"
    assert "Too narrow for" in narrow
    assert (rates in narrow, rates in page(info, run, 160)) == (False, True)


def test_every_reason_has_its_footnote_and_equal_ones_share_it(record, describe):
    wrong = {"correctness": Correctness("exact", False, "whole")}
    good = record("a", 4096, timing=timing_of([1.0] * 6))
    reasons = {"b": "rows differ", "c": "NaN", "d": "rows differ"}
    bad = [record(name, 4096, "incorrect", reason=why, **wrong) for name, why in reasons.items()]
    text = page(describe([good, *bad], None), [good, *bad])
    assert re.findall("INCORRECT([¹²])", text) == ["¹", "¹", "²", "²", "¹", "¹"]
    assert "¹ incorrect: rows differ\n² incorrect: NaN\n" in text
    assert "more footnotes" not in text, "nothing is left out"


def test_a_quick_run_says_first_that_it_is_noisy(info, run):
    first = page({**info, "command": ["seqsweep", "run", "--quick"]}, run).splitlines()[0]
    assert first.startswith("--quick is noisy:")
    assert "noisy" not in page(info, run)


@pytest.mark.parametrize("kept", KEPT, ids=[path.name for path in KEPT])
def test_a_kept_run_is_readable_in_80_columns(kept):
    folder = RunFolder(kept)
    stored = folder.read()
    text = page({**stored.info, "fingerprints": folder.fingerprints()}, stored.records, 80)
    tables = text.partition("\nout of memory")[0].partition("\nnext:")[0]
    assert max(map(len, tables.splitlines())) <= 80
    assert "…" not in re.sub(r"HLO\s+…", "", tables)  # where a footnote cuts a compiler's words


def test_the_default_sweep_has_few_footnotes_and_every_panel_its_answer():
    folder = RunFolder(next(run for run in KEPT if len(RunFolder(run).info["suites"]) == 7))
    stored = folder.read()
    text = page({**stored.info, "fingerprints": folder.fingerprints()}, stored.records, 80)
    footnotes = re.findall(r"^([¹²³⁴⁵⁶⁷⁸⁹⁰]+) ", text, re.MULTILINE)
    assert len(footnotes) <= 12
    assert set(footnotes) <= set("¹²³⁴⁵")
    panels = text.count(" on cpu") + text.count(" on\ncpu") + text.count("\non cpu")
    assert text.count("\nFastest at ") == text.count("\nwinner per length: ") == panels == 7


def test_time_that_no_part_accounts_for_is_shown_too():
    assert (
        overhead_line({"wall_s": 10.0, "samples_s": 7.0, "other_s": 3.0})
        == "wall 10 s: samples 70 %; rest: other 30 %"
    )
    assert overhead_line({"wall_s": None}) == ""


def test_a_run_without_records_says_so():
    assert page({"suites": {}}, []) == "nothing was run: seqsweep run --dry-run says why\n"


def test_the_longest_contexts_of_models_are_told_once(info, run):
    (suite,) = info["suites"].values()
    source = {"repo": "org/configs", "path": "m.json", "commit": "01", "sha256": "0"}
    model = {"name": "m", "label": "m", "layers": 2, "tokens": 1, "source": source, "longest": 262144}
    found = {
        "suite": "mask", "implementation": "mask/scatter", "panel": panel_of(run[1]), "target": "tpu:v5p",
        "seq": 131072, "beyond": 196608, "reason": None,
    }  # fmt: skip
    suite["models"] = [{**model, "cases": suite["cases"]}]
    text = page({**info, "largest": [found], "targets": ["tpu:v5p"]}, run)
    assert text.count("longest that fits") == 1
