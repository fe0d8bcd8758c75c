import os
from pathlib import Path

import pytest

from harness.catalog import child_process, discovery
from harness.catalog.discovery import catalog_elsewhere
from harness.core.errors import SideError

PROGRAM = Path(__file__).resolve().parents[2]
PLUGIN = """
from harness import implementation
from impls.topk.family import TopkWorkload

@implementation(framework="numpy", semantics="exact")
def mine(w: TopkWorkload):
    return lambda scores: scores
"""


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A folder with this harness and an `impls` of one variant."""
    folder = tmp_path / "path"
    (folder / "impls").mkdir(parents=True)
    (folder / "harness").symlink_to(PROGRAM / "harness")
    (folder / "impls" / "__init__.py").touch()
    (folder / "impls" / "topk").symlink_to(PROGRAM / "impls" / "topk")
    monkeypatch.setenv("PYTHONPATH", str(PROGRAM))  # where another `impls` lies
    monkeypatch.chdir(PROGRAM)
    return folder


def families(catalog):
    return {info.family for info in catalog.implementations.values()}


def test_plugins_are_read_under_the_same_path(path, tmp_path):
    (path / "impls" / "__init__.py").write_text("HERE = True")
    source = str(tmp_path / "mine.py")
    (tmp_path / "mine.py").write_text("from impls import HERE\n" + PLUGIN)
    found = catalog_elsewhere([str(path)], [source]).implementations["topk/mine"]
    assert (found.module, found.file) == (source, source)


def test_an_installed_package_can_be_left_out(path, tmp_path):
    folder = path / "my_package-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Name: my-package\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(f"[{discovery.ENTRY_POINTS}]\nmine = my_package\n")
    (path / "my_package.py").write_text(PLUGIN)
    assert "topk/mine" in catalog_elsewhere([str(path)], []).implementations
    assert "topk/mine" not in catalog_elsewhere([str(path)], [], without=["my_package"]).implementations


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("import nonexistent", "__init__.py:1: ModuleNotFoundError: No module named 'nonexistent'"),
        ("while True: pass", "took more than 0.5 s"),
    ],
)
def test_code_that_does_not_load_is_one_sentence(path, text, says):
    (path / "impls" / "__init__.py").write_text(text)
    with pytest.raises(SideError) as caught:
        catalog_elsewhere([str(path)], [], seconds=0.5 if "while" in text else 60.0)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_plugin_that_does_not_load_is_named(path, tmp_path):
    (tmp_path / "mine.py").write_text("import nonexistent")
    with pytest.raises(SideError, match=r"mine\.py cannot be read"):
        catalog_elsewhere([str(path)], [str(tmp_path / "mine.py")])


def test_a_missing_interpreter_is_one_sentence(path, tmp_path):
    for program in ("/bin/true", str(tmp_path / "nothing"), str(tmp_path)):
        with pytest.raises(SideError):
            catalog_elsewhere([str(path)], [], program)


def test_another_path_leaves_out_this_programs_folder(monkeypatch, tmp_path):
    """They may be the packages of another interpreter, with its own torch."""
    monkeypatch.setenv("PYTHONPATH", f"/theirs{os.pathsep}/a")
    monkeypatch.chdir(tmp_path)
    found = child_process.environment(["/a", "/b"])
    assert found["PYTHONPATH"].split(os.pathsep) == ["/a", "/b", "/theirs", str(tmp_path)]
    assert found["PYTHONSAFEPATH"] == "1"
    plain = child_process.environment()
    own = [str(PROGRAM), str(PROGRAM / "harness/entry")]
    assert plain["PYTHONPATH"].split(os.pathsep) == [*own, "/theirs", "/a", str(tmp_path)]
    assert plain["PYTHONSAFEPATH"] == "1"  # the current folder comes last there, too
