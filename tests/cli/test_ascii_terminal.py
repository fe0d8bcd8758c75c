"""A terminal that takes ASCII alone: every sign is spelled, and no table is wider than it was."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
KEPT = "20261123T205009Z-c7f20ab"
REFERENCE = ("--run", str(ROOT / "results/reference" / KEPT))
TRIVIAL = ("trivial", "--plugin", str(ROOT / "tests/faults/trivial.py"))
C_LOCALE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
BENCH = "suites: {trivial: {family: trivial, seq: [256, 512], baseline: added}}\n"


def call(folder, *words, code=0, **environment):
    """All that a command prints, on both streams."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "cli.py"), *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder), "COLUMNS": "80", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=120,
        check=False,
    )
    assert done.returncode == code, done.stdout
    return done.stdout


def assert_spelled(printed):
    text = printed.decode("ascii")
    assert re.findall(r"\\[xuU][0-9a-f]+", text) == []
    return text


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """What a run prints."""
    folder = tmp_path_factory.mktemp("ascii")
    (folder / "bench.yaml").write_text(BENCH)
    quick = ("run", *TRIVIAL, "--quick", "--budget", "20ms")
    return call(folder, *quick, PYTHONIOENCODING="ascii")


def test_a_run_is_spelled(measured):
    text = assert_spelled(measured)
    assert "?" not in text
    assert re.search(r"\[1/2\] trivial.*\n.*\nseq +implementation +time.*\n-{20,}\n", text, re.DOTALL)
    assert re.search(r"\d [mun]s .*\dx", text)


@pytest.mark.parametrize(
    "words",
    [
        ("list", "models"),
        ("show", *REFERENCE, "--notes"),
        ("compare", REFERENCE[1], "--impl", "scatter,scatter_flat"),
    ],
    ids=" ".join,
)
def test_no_line_outgrows_the_terminal(words, tmp_path):
    columns = 60
    text = assert_spelled(call(tmp_path, *words, COLUMNS=str(columns), PYTHONIOENCODING="ascii"))
    plain = call(tmp_path, *words, COLUMNS=str(columns), PYTHONIOENCODING="utf-8").decode()
    assert text.count("?") == plain.count("?")
    # Commands and sentences that are to be copied have one line in any terminal.
    assert wide(text, columns) == wide(plain, columns)


def wide(text, columns):
    return sum(len(line) > columns for line in text.splitlines())


@pytest.mark.parametrize("environment", [{"PYTHONIOENCODING": "ascii"}, C_LOCALE], ids=["ascii", "C"])
def test_an_error_is_spelled(environment, tmp_path):
    text = assert_spelled(call(tmp_path, "compare", code=2, **environment))
    assert "--across [SUITE...]" in text


def test_json_is_escaped_and_stays_json(tmp_path):
    escaped = call(tmp_path, "show", *REFERENCE, "--json", PYTHONIOENCODING="ascii")
    plain = call(tmp_path, "show", *REFERENCE, "--json", PYTHONIOENCODING="utf-8")
    assert escaped.isascii()
    assert not plain.isascii()
    assert json.loads(escaped) == json.loads(plain)
