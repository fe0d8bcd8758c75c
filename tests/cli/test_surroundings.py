"""What surrounds a command may be odd: an ASCII terminal, streams closed or full, no current folder."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
KEPT = str(ROOT / "results/reference/20261123T205009Z-c7f20ab")
SHOW = ("show", "--run", KEPT)
ASCII, C_LOCALE = (
    {"PYTHONIOENCODING": "ascii"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
)
BENCH = "suites: {trivial: {family: trivial, seq: [256, 512], baseline: added}}\n"
TRIVIAL = ("trivial", "--plugin", str(ROOT / "tests/faults/trivial.py"), "--quick", "--budget", "20ms")
WITHOUT_FOLDER = (
    "import os, runpy, sys; os.rmdir(os.getcwd()); runpy.run_path(sys.argv.pop(1), run_name='__main__')"
)


def call(*words, redirect="", cwd=ROOT, python=(), **environment):
    """Run the command through a shell, which closes or redirects streams."""
    return subprocess.run(
        ["bash", "-c", f'"$@" {redirect}', "bash", sys.executable, *python, str(ROOT / "cli.py"), *words],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "60", **environment},
        capture_output=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(
    ("redirect", "says"),
    [
        (">&-", b"seqsweep: standard output is closed; send it to a file, or to /dev/null\n"),
        (">/dev/full", b"seqsweep: standard output cannot be written (No space left on device)\n"),
    ],
    ids=["closed", "full"],
)
def test_an_output_that_takes_nothing_is_a_sentence(redirect, says):
    done = call(*SHOW, redirect=redirect)
    assert (done.returncode, done.stderr) == (5, says)


@pytest.mark.parametrize("redirect", ["2>/dev/full", "<&- 2>&-"])
def test_other_streams_may_be_missing(redirect):
    done = call("list", redirect=redirect)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"attention" in done.stdout
    assert call("run", "maks", redirect=redirect).returncode == 2


def test_a_reader_that_goes_away_is_no_news():
    pipe = call("list", redirect='| head -1; echo "${PIPESTATUS[0]}" >&2')
    assert pipe.stderr in {b"0\n", b"5\n"}
    assert pipe.stdout.count(b"\n") == 1


def test_a_deleted_folder_is_a_sentence(tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    done = call(*SHOW, cwd=gone, python=("-c", WITHOUT_FOLDER))
    says = b"seqsweep: the current folder has been removed; change to another one\n"
    assert (done.returncode, done.stderr) == (5, says)


def spelled(done, code=0):
    """What was printed on both streams, in which every sign is spelled."""
    assert done.returncode == code, done.stderr
    text = (done.stdout + done.stderr).decode("ascii")
    assert re.findall(r"\\[xuU][0-9a-f]+", text) == []
    return text


def test_a_run_is_spelled(tmp_path):
    (tmp_path / "bench.yaml").write_text(BENCH)
    text = spelled(call("run", *TRIVIAL, cwd=tmp_path, **ASCII, TMPDIR=str(tmp_path), COLUMNS="80"))
    assert "?" not in text
    assert re.search(r"\[1/2\] trivial", text)
    assert re.search(r"\n *seq +implementation +time.*\n-{20,}\n", text)
    assert re.search(r"\d [mun]s .*\dx", text)


@pytest.mark.parametrize("environment", [ASCII, C_LOCALE], ids=["ascii", "C"])
def test_an_error_is_spelled(environment):
    assert "--across [SUITE...]" in spelled(call("compare", **environment), code=2)


def test_json_is_escaped_and_stays_json():
    escaped, plain = (
        call(*SHOW, "--json", PYTHONIOENCODING=name).stdout.decode() for name in ("ascii", "utf-8")
    )
    assert escaped.isascii()
    assert not plain.isascii()
    assert json.loads(escaped) == json.loads(plain)
