"""Operating-system errors that no layer below describes: one sentence and exit code 5, no traceback."""

import errno
import json
import os
from pathlib import Path

import pytest
import typer

from harness.commands import output
from harness.commands.app import app
from harness.commands.exit_codes import call_app

LONG = "a" * 300


def app_that_raises(error):
    failing = typer.Typer()

    @failing.command()
    def fail():
        raise error

    return failing


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (OSError(errno.ESTALE, "Stale", "/shared/run.json"), "/shared/run.json: Stale; fix"),
        (OSError(errno.ENOENT, "No temporary directory"), "operating system reports: No temporary directory"),
    ],
)
def test_an_operating_system_error_is_one_sentence(capsys, error, says):
    assert call_app(app_that_raises(error), []) == 5
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["show", "--results", LONG], ["runs", "--results", LONG],
        ["collect", LONG],
        ["run", "--dry-run", "--plugin", f"{LONG}.py"], ["export", "--to", "csv", "--out", LONG],
    ],
)  # fmt: skip
def test_a_name_that_is_too_long_is_a_sentence(capsys, words):
    assert call_app(app, words) in {2, 5}
    err = capsys.readouterr().err
    assert "Traceback" not in err
    assert err.startswith("seqsweep: ")


@pytest.mark.parametrize(
    "words",
    [
        ["run", "--results", ""], ["run", "--on="], ["show", "--config", ""], ["show", "--run="],
        ["runs", "--results="], ["chart", "--out", ""],
        ["report", "--html", ""], ["new", "topk", "mine", "--out", ""],
    ],
)  # fmt: skip
def test_an_empty_value_of_an_option_is_refused(capsys, words):
    flag = next(word for word in words if word.startswith("--")).rstrip("=")
    assert call_app(app, words) == 2
    assert capsys.readouterr() == (
        "",
        f"seqsweep: {flag}: has an empty value; write a value, or leave it out\n",
    )


def test_json_escapes_a_name_that_is_not_utf_8(capsysbinary):
    name = os.fsdecode(b"caf\xe9.svg")
    output.print_json({"charts": [name]})
    assert json.loads(capsysbinary.readouterr().out) == {"charts": [name]}


def test_a_link_still_points_to_the_written_file(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "page.csv").write_text("old")
    link = tmp_path / "page.csv"
    link.symlink_to(Path("real") / "page.csv")
    output.write_data(b"new", link)
    assert link.is_symlink()
    assert (tmp_path / "real" / "page.csv").read_text() == "new"
