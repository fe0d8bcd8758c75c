"""A text that may hold anything, pushed through every output: what arrives is words, and all of them."""

import io
import json
import re
import sys
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from harness.analysis.compare_runs import SideBySide
from harness.analysis.suite_results import results_of
from harness.catalog.catalog import Catalog, FamilyInfo
from harness.claims.model import ClaimVerdict, Word
from harness.claims.report import page
from harness.commands import output
from harness.commands.app import app
from harness.commands.exit_codes import call_app
from harness.core.errors import UsageError
from harness.core.workload import Field
from harness.gate.outcome import INCORRECT, CaseVerdict
from harness.gate.output import annotations, junit, report_outcome, summary
from harness.report.charts import draw_run
from harness.report.tables.listing import runs_table
from harness.store.prune import PrunedRun
from harness.store.run_summary import summarise
from harness.store.runs import RunFolder
from harness.store.stored_run import Stored
from tests.claims.verdicts import claim
from tests.gate.report.outcomes import outcome_of
from tests.report.conftest import info_of, record_of, timing_of

WORDS = (
    "red", "nul", "bidi", "zero", "clear", "next", "::error::x", "]]>", "<script>", "[red]m[/red]", ":smile:"
)  # fmt: skip
NASTY = (
    "\x1b[31mred\x1b[0m \x1b]0;title\x07nul\x00 bidi\u202e zero\u200b \x9b2Jclear\x7f\nnext\r\n"
    "::error::x ]]> <script>alert(1)</script> [red]m[/red] :smile: a\u2028b \ufeff\ufffe\U000e0041 $x$ `c` |"
)
LONE = NASTY + " \ud800lone"  # of which JSON has no form
SHOWN_STYLE = re.compile(r"\x1b\[[0-9;]*m")


def assert_shown(text, *, once=True):
    """All words are there, and no character that a terminal would take for anything but itself."""
    assert [c for c in SHOWN_STYLE.sub("", text) if not (c.isprintable() or c in "\n\u202f")] == []
    if once:
        flat = " ".join(text.split())
        for word in WORDS:
            assert word in flat, word


def assert_fit(text):
    assert_shown(text, once=False)


def nasty_run(text):
    crashed = record_of("b", 4096, "crashed", reason=text)
    timed = record_of("a", 4096, timing=timing_of([1e-3] * 6, warnings=(text,)), facts={"fact": text})
    named = record_of("c", 4096, "unsupported", reason=text, options={"how": text}, workload={"kind": text})
    records = [timed, crashed, named, replace(timed, replicate=1)]
    info = {**info_of(records, "mask/a"), "problems": [text], "command": [text]}
    info["suites"]["mask"]["question"] = text
    return info, records


@pytest.mark.parametrize("colours", [False, True])
def test_tables(capsys, monkeypatch, colours):
    if colours:
        monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "500")
    info, records = nasty_run(LONE)
    output.print_stored(Stored(info, tuple(records), (LONE,)), json=False, notes=True)
    assert_shown(capsys.readouterr().out)


def test_json_is_faithful(monkeypatch):
    written = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    monkeypatch.setattr(sys, "stdout", written)
    info, records = nasty_run(NASTY)
    output.print_stored(Stored(info, tuple(records), ()), json=True)
    text = written.buffer.getvalue().decode()
    assert_fit(text)
    assert json.loads(text)["records"][1]["reason"] == NASTY


def test_charts_parse():
    info, records = nasty_run(LONE)
    drawn = draw_run(info, results_of(info, records))
    assert len(drawn) == 3
    for data in drawn.values():
        root = ET.fromstring(data)
        texts = "".join(root.itertext())
        assert_fit(texts)
        assert "::error::x" in texts


def test_a_chart_stays_in_its_folder_for_any_suite_name():
    info, records = nasty_run(NASTY)
    info["suites"] = {f"../\0{NASTY}/a": info["suites"]["mask"]}
    for name in draw_run(info, results_of(info, records)):
        assert "/" not in name
        assert name.isprintable()


def test_stored_runs(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "2000")
    folder = RunFolder.create(
        tmp_path, NASTY.replace("/", "").replace("\0", ""), {"suites": {NASTY: {}}, "problems": [NASTY]}
    )
    folder.write_environment({"git": {"commit": NASTY}})
    folder.write_fingerprint({"cpu": NASTY})
    run = summarise(folder)
    output.print_table({}, lambda: runs_table([run]), json=False)
    assert_fit(capsys.readouterr().out)
    output.print_pruned([PrunedRun(NASTY, 1, ""), PrunedRun(NASTY, 1, NASTY)], json=False, dry_run=True)
    assert_shown(capsys.readouterr().out)
    sides = SideBySide(True, NASTY, NASTY, NASTY, {NASTY: run}, [], {NASTY: [NASTY]}, [NASTY])
    output.print_comparison(sides, json=False, notes=True)
    assert_shown(capsys.readouterr().out)


@pytest.mark.parametrize("contracts", [True, False])
def test_a_family(capsys, monkeypatch, contracts):
    monkeypatch.setenv("COLUMNS", "2000")
    field = Field("seq", "str", required=False, default=NASTY, choices=(NASTY,))
    family = FamilyInfo("f", NASTY, (field,), (NASTY,), ("fwd",), NASTY, checks={NASTY: NASTY})
    array = {"name": NASTY, "dtype": NASTY, "shape": [1]}
    told = {"point": {"seq": NASTY}, "inputs": [array], "result": [array], "reason": NASTY}
    held = {**told, **dict.fromkeys(("name", "sentence", "contract", "gradient", "layout"), NASTY)}
    answers = [held, {**held, "point": None}]
    output.print_family(Catalog({"f": family}), "f", answers, "", contracts=contracts, json=False)
    assert_shown(capsys.readouterr().out)


def nasty_outcome():
    case = CaseVerdict(
        f"fa\x1bm/{LONE}@seq=1:fwd:cpu", INCORRECT, LONE, notes=(LONE,), file=f"a{LONE}.py", line=1
    )
    return replace(outcome_of((case,), left_out={f"m/{LONE}@seq=2:fwd:cpu": LONE}), notes=(LONE,), base=LONE)


@pytest.mark.parametrize("broken", [False, True])
def test_a_gate(capsys, monkeypatch, broken):
    monkeypatch.setenv("COLUMNS", "800")
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    outcome = replace(nasty_outcome(), broken=LONE) if broken else nasty_outcome()
    report_outcome(outcome, output.console(), json=False)
    assert_shown(capsys.readouterr().out)

    root = ET.fromstring(junit(outcome))
    assert_shown("".join(root.itertext()))
    for element in root.iter():
        assert_fit("".join(element.attrib.values()))

    lines = annotations(outcome)
    for line in lines:
        assert_fit(line)
        assert "\n" not in line
        assert line.startswith("::error ")
    assert len(lines) == 1
    markdown = summary(outcome)
    assert_fit(markdown)
    assert "<script" not in re.sub(r"`[^`]*`", "", markdown), "in code nothing is taken for HTML"
    assert "next" in markdown


def test_claims_page():
    verdict = ClaimVerdict(claim("a", says=LONE, hardware=LONE, needs=LONE), Word.REPRODUCED, LONE, ())
    text = page([verdict], {"jax": LONE})
    assert_fit(text)
    assert "alert(1)" in text
    assert "<script" not in text


def test_errors(capsys):
    assert call_app(app, ["run", LONE]) == UsageError.exit_code
    said = capsys.readouterr().err
    assert_shown(said)
    assert said.count("\n") == 1, "one sentence"


def test_progress(capsys):
    progress = output.progress_of(type("Schedule", (), {"groups": (), "replicates": 1})())
    progress.group_started(0, LONE, [LONE], None)
    progress.case_state(LONE, LONE)
    progress.message(LONE)
    progress.close()
    assert_shown(capsys.readouterr().err)
