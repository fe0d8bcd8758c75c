"""`seqsweep static FILE.py::KERNEL`: what is refused before any process is started."""

import json
from dataclasses import asdict

import pytest

from harness.catalog import child_process
from harness.catalog.source_hash import _imported_files, content
from harness.commands.app import app
from harness.commands.exit_codes import call_app
from tests.records import kernel_of

LAUNCH = ["--target", "cuda:h100", "--args", "x=f32[64]", "--grid", "1"]


def test_without_triton_the_extra_is_named(tmp_path, monkeypatch, capsys):
    (tmp_path / "mine.py").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("harness.commands.static_kernel.find_spec", lambda name: None)
    assert call_app(app, ["static", "mine.py::k", *LAUNCH]) == 5
    assert "Triton is not installed; pip install -e '.[triton]'" in capsys.readouterr().err


@pytest.fixture
def compiled(tmp_path, monkeypatch):
    """The targets that each process was asked to compile for, in a folder with a kernel's file."""
    asked = []

    def compile_kernel(words, *_, **__):
        question = json.loads(words[1])
        asked.append(question["targets"])
        refused = {"kernels": [], "reason": "mine.py:1: no"}
        kernels = {"kernels": [asdict(kernel_of())], "reason": ""}
        return {name: refused if name == "cuda:b200" else kernels for name in question["targets"]}

    (tmp_path / "mine.py").write_text("import sibling\n")
    (tmp_path / "sibling.py").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("harness.commands.static_kernel.find_spec", lambda name: name)
    monkeypatch.setattr(child_process, "ask", compile_kernel)
    return asked


def plan(*words, targets="cuda:a100,cuda:h100"):
    launch = ["--target", targets, "--args", "n=1", "--grid", "1"]
    return call_app(app, ["static", "mine.py::k", *launch, *words])


def test_what_was_compiled_is_kept_by_target_launch_and_source(compiled, tmp_path, capsys):
    assert plan() == 0
    first = capsys.readouterr().out
    assert plan() == 0
    assert (capsys.readouterr().out, compiled) == (first, [["cuda:a100", "cuda:h100"]])
    plan(targets="cuda:h200,cuda:h100")
    plan("--args", "n=2")
    plan("--grid", "2")
    (tmp_path / "elsewhere.py").write_text("")
    assert plan() == 0
    assert compiled[1:] == [["cuda:h200"], *[["cuda:a100", "cuda:h100"]] * 2]


def test_a_sibling_that_changed_is_compiled_again(compiled, tmp_path):
    plan()
    (tmp_path / "sibling.py").write_text("X = 1\n")
    for kept in (content, _imported_files):
        kept.cache_clear()
    plan()
    assert len(compiled) == 2


def test_a_refusal_is_not_kept(compiled, capsys):
    for _ in range(2):
        assert plan(targets="cuda:b200") == 2
        assert "mine.py::k: mine.py:1: no" in capsys.readouterr().err
    assert compiled == [["cuda:b200"]] * 2


def test_a_file_edited_while_it_was_compiled_is_not_kept(compiled, tmp_path, monkeypatch):
    ask = child_process.ask

    def edit_meanwhile(*words, **options):
        (tmp_path / "sibling.py").write_text("X = 2\n")
        return ask(*words, **options)

    monkeypatch.setattr(child_process, "ask", edit_meanwhile)
    assert plan() == 0
    assert not (tmp_path / "results").exists()
