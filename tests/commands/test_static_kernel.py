"""`seqsweep static FILE.py::KERNEL`: what is refused, before and after a process is started."""

from harness.catalog import child_process
from harness.commands.app import app
from harness.commands.exit_codes import call_app

LAUNCH = ["--target", "cuda:b200", "--args", "x=f32[64]", "--grid", "1"]


def test_without_triton_the_extra_is_named(tmp_path, monkeypatch, capsys):
    (tmp_path / "mine.py").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("harness.commands.static_kernel.find_spec", lambda name: None)
    assert call_app(app, ["static", "mine.py::k", *LAUNCH]) == 5
    assert "Triton is not installed; pip install -e '.[triton]'" in capsys.readouterr().err


def test_a_kernel_that_compiles_for_no_target_is_refused(tmp_path, monkeypatch, capsys):
    (tmp_path / "mine.py").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("harness.commands.static_kernel.find_spec", lambda name: name)
    refused = {"cuda:b200": {"kernels": [], "reason": "mine.py:1: no"}}
    monkeypatch.setattr(child_process, "ask", lambda *_, **__: refused)
    assert call_app(app, ["static", "mine.py::k", *LAUNCH]) == 2
    assert "mine.py::k: mine.py:1: no" in capsys.readouterr().err
