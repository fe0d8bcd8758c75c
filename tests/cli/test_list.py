"""The output of lists, and that no inputs are drawn or computed for it."""

from pathlib import Path

import pytest

from harness.catalog import child_process
from tests.cli.forked import ROOT

PLUGIN = str(Path(__file__).with_name("drawing_plugin.py"))
SUITE = f"plugins: [{PLUGIN}]\nsuites:\n  sums: {{family: sums, seq: [64], baseline: scan, impls: [scan]}}\n"


@pytest.fixture
def drawn(tmp_path, monkeypatch):
    """The file that exists as soon as the plugin's inputs have been drawn."""
    (tmp_path / "bench.yaml").write_text(SUITE)
    monkeypatch.setenv("DRAWN", str(tmp_path / "drawn"))
    return tmp_path / "drawn"


@pytest.mark.parametrize(
    "words",
    [
        ["list", "sums", "--contracts"],
        ["new", "sums", "other"],
        ["run", "--dry-run"],
        ["static", "--target", "host"],
    ],
    ids=" ".join,
)
def test_listing_and_planning_draw_no_inputs(in_process, drawn, words):
    done = in_process(*words, folder=drawn.parent)
    assert done.code == 0, done.err
    assert not drawn.exists()


def test_a_check_draws_inputs(in_process, drawn):
    assert in_process("check", "sums", folder=drawn.parent).code == 0
    assert drawn.exists()


@pytest.mark.parametrize("family", ["attention", "mask", "mla", "offsets", "topk"])
def test_a_built_in_family_is_listed_without_another_process(in_process, monkeypatch, family):
    def refuse(*_, **__):
        raise AssertionError("a process was started")

    monkeypatch.setattr(child_process, "ask", refuse)
    listed = in_process("list", family, "--json", folder=ROOT).json
    assert listed["reason"] == ""
    for meaning in listed["semantics"]:
        assert (meaning["reason"], bool(meaning["inputs"])) == ("", True), meaning["name"]
