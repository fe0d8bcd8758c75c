"""`dispatch`: a function on standard output, or in a file, and refusals."""

import json

import pytest

from harness.commands.app import app
from harness.commands.exit_codes import call_app
from harness.store.runs import RunFolder
from tests.analysis.test_choices import measured, power

RUN = "20261120T113000Z-1a2b3c4"


@pytest.fixture
def results(tmp_path):
    records = measured({"base": power(1, 1), "flat": power(1, 0)})
    cases = [record.case for record in records]
    labels = ["mask/base", "mask/flat"]
    suites = {
        "one": {"family": "mask", "baseline": "mask/base", "implementations": labels, "cases": cases},
        "two": {"family": "mask", "baseline": "mask/base", "implementations": labels, "cases": cases[:2]},
    }
    folder = RunFolder.create(tmp_path, RUN, {"suites": suites})
    folder.append(records)
    return str(tmp_path)


def test_standard_output_is_python_and_nothing_else(results, capsysbinary):
    assert call_app(app, ["dispatch", "one", "--results", results]) == 0
    names = {}
    exec(capsysbinary.readouterr().out, names)
    assert (names["choose"](1024), names["choose"](65536)) == ("mask/base", "mask/flat")


def test_a_file_gets_the_same_text(results, tmp_path, capsysbinary):
    file = tmp_path / "choose.py"
    assert call_app(app, ["dispatch", "one", "--results", results, "--into", str(file)]) == 0
    output = capsysbinary.readouterr()
    assert (output.out, output.err) == (b"", f"wrote {file}\n".encode())
    assert call_app(app, ["dispatch", "one", "--results", results]) == 0
    assert capsysbinary.readouterr().out == file.read_bytes()


def test_json_has_the_choices_and_the_text(results, capsysbinary):
    assert call_app(app, ["dispatch", "one", "--json", "--results", results]) == 0
    found = json.loads(capsysbinary.readouterr().out)
    assert found["code"].startswith("# Suite one, by seqsweep dispatch from run")
    first, second = found["points"][0]["choices"]
    assert (first["implementation"], first["speedup"]["value"], first["dead_zone"]) == (
        "mask/base",
        None,
        None,
    )
    assert (second["implementation"], second["former"], second["at"]) == ("mask/flat", "mask/base", 16384)
    assert second["dead_zone"][0] < 8192 < second["dead_zone"][1] == second["first"]


def test_another_baseline_is_kept_in_doubt(results, capsysbinary):
    words = ["dispatch", "one", "--results", results, "--baseline", "flat", "--seq", "1Ki,64Ki"]
    assert call_app(app, words) == 0
    assert b"as fast as mask/flat at 1Ki" in capsysbinary.readouterr().out


def test_one_of_several_suites_has_to_be_named(results, capsys):
    assert call_app(app, ["dispatch", "--results", results]) == 2
    assert "dispatch takes one suite of the run; it has one, two" in capsys.readouterr().err
