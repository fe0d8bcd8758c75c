"""What surrounds a command may be odd: an ASCII locale, streams closed or full, no current folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "results/reference/20261123T205009Z-c7f20ab"
SHOW = ("show", "--run", str(KEPT))


def call(*words, redirect="", cwd=ROOT, **environment):
    """Run the command through a shell, which closes or redirects streams."""
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {redirect}', "sh", sys.executable, str(ROOT / "cli.py"), *words],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
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
    pipe = subprocess.run(
        ["bash", "-c", f'"{sys.executable}" cli.py list | head -1; echo "${{PIPESTATUS[0]}}" >&2'],
        cwd=ROOT,
        capture_output=True,
        timeout=120,
        check=True,
    )
    assert pipe.stderr in {b"0\n", b"5\n"}
    assert pipe.stdout.count(b"\n") == 1


def test_a_deleted_folder_is_a_sentence(tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    code = (
        "import os, runpy, sys; os.rmdir(os.getcwd()); runpy.run_path(sys.argv.pop(1), run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(ROOT / "cli.py"), *SHOW],
        cwd=gone,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (
        5,
        "seqsweep: the current folder has been removed; change to another one\n",
    )
