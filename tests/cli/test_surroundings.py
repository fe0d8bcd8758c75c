"""What surrounds a command may be odd: streams closed or full, no current folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
KEPT = str(ROOT / "results/reference/20261123T205009Z-c7f20ab")
SHOW = ("show", "--run", KEPT)
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
        (">&-", b"seqsweep: standard output is closed; redirect it to a file, or to /dev/null\n"),
        (">/dev/full", b"seqsweep: standard output cannot be written (No space left on device)\n"),
    ],
    ids=["closed", "full"],
)
def test_an_unwritable_output_is_one_sentence(redirect, says):
    done = call(*SHOW, redirect=redirect)
    assert (done.returncode, done.stderr) == (5, says)


@pytest.mark.parametrize("redirect", ["2>/dev/full", "<&- 2>&-"])
def test_other_streams_may_be_missing(redirect):
    done = call("list", redirect=redirect)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"attention" in done.stdout
    assert call("run", "maks", redirect=redirect).returncode == 2


def test_a_closed_pipe_is_silent():
    pipe = call("list", redirect='| head -1; echo "${PIPESTATUS[0]}" >&2')
    assert pipe.stderr in {b"0\n", b"5\n"}
    assert pipe.stdout.count(b"\n") == 1


def test_a_deleted_folder_is_a_sentence(tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    done = call(*SHOW, cwd=gone, python=("-c", WITHOUT_FOLDER))
    says = b"seqsweep: the current folder has been removed; change to another one\n"
    assert (done.returncode, done.stderr) == (5, says)


def test_output_is_utf_8_for_any_terminal():
    usual, other = (call("list", "models", PYTHONIOENCODING=name).stdout for name in ("utf-8", "ascii"))
    assert other == usual
    assert not usual.isascii()
