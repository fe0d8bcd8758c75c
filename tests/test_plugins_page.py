"""The examples of docs/plugins.md: each is run as a reader would, and judged by the bound that it states."""

import json
import os
import re

import pytest

from harness.catalog import face
from harness.commands.app import app
from harness.commands.exit_codes import call_app
from tests.cli.forked import ROOT, call_forked

PAGE = (ROOT / "docs/plugins.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
SMALL = {"batch": 1, "heads": 2, "kv_heads": 1, "head_dim": 16, "window": 20}


@pytest.mark.torch
def test_the_examples_are_held_to_what_they_state(tmp_path):
    words = ["check", "attention/in_bfloat16", "attention/sliding_window", "--json"]
    for place, example in enumerate(code for code in EXAMPLES if "attention" in code):
        (tmp_path / f"example{place}.py").write_text(example)
        words += ["--plugin", str(tmp_path / f"example{place}.py")]
    for name, value in SMALL.items():
        words += ["--set", f"{name}={value}"]
    words += ["--family", "attention", "--mode", "fwd", "--seq", "64", "--results", str(tmp_path / "results")]
    code, out, err = call_forked(ROOT, words, {**os.environ, "TMPDIR": str(tmp_path)})
    assert code == 0, err
    records = {record["implementation"]: record for record in json.loads(out)["records"]}
    bfloat16, window = records["attention/in_bfloat16"], records["attention/sliding_window"]
    assert bfloat16["bound"] == "rel rms ≤ 0.02 against the reference of dense"
    assert window["bound"] == "rel rms ≤ 1e-05 against the author's reference"
    assert 1e-4 < bfloat16["correctness"]["figures"]["relative_rms"] < 0.02
    assert window["correctness"]["figures"]["relative_rms"] < 1e-5


def test_the_names_that_it_lists_can_be_imported():
    listed = PAGE[PAGE.index("which has") : PAGE.index("among others")]
    assert set(re.findall(r"`(\w+)`", listed)) <= set(face.__all__)


def test_a_family_of_ones_own_is_one_file(tmp_path, monkeypatch, capsys):
    """And its suite is understood; that file's cases pass in test_new.py, which holds both texts equal."""
    source = next(code for code in EXAMPLES if "FAMILY" in code)
    suite = re.search(r"```yaml\n(.*?)```", PAGE[PAGE.index("A family of your own") :], re.DOTALL)
    assert suite is not None
    (tmp_path / "sums.py").write_text(source)
    (tmp_path / "bench.yaml").write_text(suite[1])
    monkeypatch.chdir(tmp_path)
    assert call_app(app, ["run", "--family", "sums", "--seq", "64", "--dry-run", "--json"]) == 0
    (planned,) = json.loads(capsys.readouterr().out)["suites"]
    assert [case.partition("@")[0] for case in planned["cases"]] == ["sums/by_matrix", "sums/by_scan"]
