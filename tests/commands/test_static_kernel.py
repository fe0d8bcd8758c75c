"""`seqsweep static FILE.py::KERNEL`: what is refused before any process is started."""

import pytest

from harness.commands.app import app
from harness.commands.exit_codes import call_app

LAUNCH = ["--target", "cuda:h100", "--args", "x=f32[64]", "--grid", "1"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing.py::k", *LAUNCH], "nothing.py::k: nothing.py is no file"),
        (["mine.py", *LAUNCH], "mine.py: name a kernel of the file, as in mine.py::my_kernel"),
        (["mine.py::k", "--grid", "1"], "a kernel is compiled for GPUs; name one as in --target cuda:h100"),
        (["mine.py::k", *LAUNCH[:4]], "say how many blocks are launched: --grid 64"),
        (["mine.py::k", "mask", *LAUNCH], "mine.py::k: is one kernel, and goes without the other words"),
        (["mine.py::k", *LAUNCH, "--seq", "4Ki"], "goes with --target, --args, --grid, --timeout, --kernels"),
        (["mine.py::k", *LAUNCH, "--threads", "1"], "goes with --target, --args, --grid, --timeout"),
        (["mine.py::k", *LAUNCH, "--stages"], "has no lengths, stages and columns"),
        (["mine.py::k", *LAUNCH, "--timeout", "soon"], 'timeout: "soon" is not a quantity'),
        (["mask", "--grid", "1"], "--args and --grid: are a kernel's alone; name it first"),
    ],
)  # fmt: skip
def test_what_cannot_be_launched_is_wrong_usage(tmp_path, monkeypatch, capsys, words, said):
    (tmp_path / "mine.py").write_text("")
    monkeypatch.chdir(tmp_path)
    assert call_app(app, ["static", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err


def test_without_triton_the_extra_is_named(tmp_path, monkeypatch, capsys):
    (tmp_path / "mine.py").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("harness.commands.static_kernel.find_spec", lambda name: None)
    assert call_app(app, ["static", "mine.py::k", *LAUNCH]) == 5
    assert "Triton is not installed; pip install -e '.[triton]'" in capsys.readouterr().err
