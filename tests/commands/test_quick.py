"""A run with `--quick` is marked wherever its numbers are shown."""

import re

import pytest

from harness.commands.app import app
from harness.commands.exit_codes import call_app
from harness.core.typed_command import QUICK_NOTE, quick_notes
from tests.records import PASSED, record_of, timing_of
from tests.stores import store

RUNS = ["20261120T113000Z-aaaaaaa", "20261121T113000Z-aaaaaaa"]
NOISY = re.sub(r"\W+", "", QUICK_NOTE)
PAIR = ("--impl", "scatter,base")


def timed(name, seconds):
    timing = timing_of([seconds] * 6)
    return record_of(name, 4096, timing=timing, correctness=PASSED, started="2026-11-20T11:30:00Z")


@pytest.fixture
def call(tmp_path, capsysbinary, monkeypatch):
    """All that a command writes, to either stream or to SVGs, on two runs that `made_by` has made."""
    (tmp_path / "bench.yaml").write_text("default: [mask]\nsuites:\n  mask: {family: mask, seq: [4Ki]}\n")
    monkeypatch.chdir(tmp_path)

    def run(made_by, words, **info):
        for name in RUNS:
            folder = store(tmp_path / "results", name, [timed("base", 2.0), timed("scatter", 1.0)])
            folder.update_info(run=name, command=["seqsweep", *made_by.split()], **info)
        code = call_app(app, words)
        drawn = [path.read_bytes() for path in tmp_path.glob("**/*.svg")]
        return code, b"".join([*capsysbinary.readouterr(), *drawn]).decode()

    return run


def says_noisy(text):
    """Whether a text has the sentence, however its lines are broken and its characters are escaped."""
    return NOISY in re.sub(r"<[^>]*>|&\w+;|\W+", "", text)


SHOWN = {
    "tables": ["show"],
    "tables as JSON": ["show", "--json"],
    "rows": ["export", "--to", "csv"],
    "a function": ["dispatch"],
    "a function as JSON": ["dispatch", "--json"],
    "charts": ["chart"],
    "a history": ["runs", "mask/base@*"],
    "implementations": ["compare", "latest", *PAIR],
    "implementations as JSON": ["compare", "latest", *PAIR, "--json"],
    "drawn implementations": ["compare", "latest", *PAIR, "--out", "c.svg"],
    "two runs": ["compare", *RUNS],
    "machines": ["compare", "--across"],
    "a document": ["report"],
}


@pytest.mark.parametrize("made_by", ["run mask --quick", "run mask"])
@pytest.mark.parametrize("words", SHOWN.values(), ids=SHOWN)
def test_only_quick_runs_are_shown_with_the_noise_note(call, words, made_by):
    code, text = call(made_by, words)
    assert (code, says_noisy(text)) == (0, "--quick" in made_by)


def test_a_history_marks_the_runs_that_are_noisy(call):
    code, text = call("run mask --quick", ["runs", "mask/base@*"])
    rows = [line for line in text.splitlines() if line.lstrip().startswith("20")]
    assert (code, [line.rstrip().endswith("--quick") for line in rows]) == (0, [True, True])
    assert f"2 runs, {RUNS[1]}: --quick is noisy" in text


def test_a_quick_run_gets_no_receipt(call):
    code, text = call("run mask --quick", ["report", "--pr"])
    assert code == 2
    assert text.startswith(f"seqsweep: --pr: {RUNS[1]} was measured with --quick, which is too noisy")
    assert "name another run with --run" in text


def test_exact_figures_are_not_noisy(call):
    assert call("static mask --quick", ["report", "--pr"], depth="static")[0] == 0
    quick = {"command": ["seqsweep", "check", "--quick"]}
    assert quick_notes({"depth": "check", **quick}) == ()
    assert quick_notes(quick) == (QUICK_NOTE,), "older runs have no depth"
    assert quick_notes({"command": None}) == ()
