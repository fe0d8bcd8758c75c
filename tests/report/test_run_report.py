"""Whole pages of text, compared with files that a person has read."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from harness.core.record import Correctness
from harness.report.run_report import overhead_line, print_run

GOLDEN = Path(__file__).parents[1] / "golden"
OVERHEAD = {
    "wall_s": 252.0,
    "work_s": 206.6,
    "share": 0.82,
    "compile_s": 28.0,
    "contract_s": 22.6,
    "other_s": 5.4,
    "samples_s": 156.0,
    "startup_s": 40.0,
    "startup_per_case_s": 0.11,
}


def page(info, records, width=120, **more):
    out = io.StringIO()
    print_run(Console(file=out, width=width), info, records, **more)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


@pytest.mark.parametrize("width", [80, 100, 160])
def test_the_page_of_a_run(info, run, width):
    problems = ["records.jsonl:17: cut off; the line was left out"]
    text = page(info, run, width, overhead=OVERHEAD, problems=problems)
    assert text == (GOLDEN / f"run_{width}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("width", [80, 100, 120, 160])
def test_no_table_is_wider_than_the_terminal(info, run, width):
    tables = page(info, run, width).split("\nnext:")[0].split("\nout of memory")[0]
    assert max(map(len, tables.splitlines())) <= width


@pytest.mark.parametrize("width", [80, 100, 160])
def test_no_time_is_ever_wrapped_or_cut(info, run, width):
    text = page(info, run, width)
    assert "…" not in text
    assert text.count(" ms") == 11


def test_what_is_no_terminal_gets_no_escapes(info, run):
    assert "\x1b" not in page(info, run)


def test_a_terminal_gets_colours(info, run):
    out = io.StringIO()
    print_run(Console(file=out, width=120, force_terminal=True, color_system="standard"), info, run)
    assert "\x1b[32m" in out.getvalue()


def test_footnotes_of_hidden_columns_are_not_shown(info, run):
    assert "negative: −1" in page(info, run, 160)
    assert "\n¹  negative: −1" not in page(info, run, 80)


def test_a_column_is_explained_where_it_is_shown(info, run):
    assert "mean speedup: geometric, over the lengths" in page(info, run, 160)
    narrow = page(info, run, 60)
    assert "Too narrow for" in narrow
    assert "mean speedup: geometric" not in narrow


def test_labels_in_brackets_are_no_markup(info, run):
    assert "two_stage[buckets=4096,keep=2]" in page(info, run, 160)


def test_the_overhead_line_names_the_work_and_the_rest():
    assert overhead_line(OVERHEAD) == (
        "wall 4 m 12 s: compile 11 %, contract 9 %, samples 62 %; rest: other 2 %, startup 16 %"
    )


def test_time_that_no_part_accounts_for_is_shown_too():
    assert overhead_line({"wall_s": 10.0, "samples_s": 7.0}) == "wall 10 s: samples 70 %; rest: other 30 %"
    assert overhead_line({"wall_s": None}) == ""


def test_the_next_command_names_the_run(info, run):
    assert page(info, run).rstrip().splitlines()[-1] == (
        "next: seqsweep chart --run 20261120T113000Z-1a2b3c4  or  "
        "seqsweep show --run 20261120T113000Z-1a2b3c4 --json"
    )


def test_remedies_fit_what_went_wrong(record, describe):
    wrong = {"correctness": Correctness("exact", False, "whole")}
    records = [
        record("a", 4096, "oom"),
        record("b", 4096, "timeout"),
        record("c", 4096, "incorrect", options={"k": 1}, **wrong),
    ]
    lines = page(describe(records, None), records).splitlines()[-4:]
    assert lines[0] == "not as registered: seqsweep check 'mask/c[k=1]'"
    assert lines[1] == (
        "out of memory (1 case): raise --memory; what every length plans: seqsweep static mask"
    )
    assert lines[2] == "timed out (1 case): raise --timeout, or take shorter lengths with --seq"
    assert lines[3] == "next: seqsweep show --run 20261120T113000Z-1a2b3c4 --json"


def test_a_run_without_records_says_so():
    assert page({"suites": {}}, []) == "nothing was run: seqsweep run --dry-run says why\n"
