from dataclasses import replace

import pytest

from harness.catalog.catalog import Catalog, ImplementationInfo
from harness.gate.sides.side import Side

INFO = ImplementationInfo("topk/exact", "numpy", "exact", (), "", None, "impls.topk.exact", "", 1, "")


@pytest.fixture
def tree(tmp_path):
    folder = tmp_path / "work" / "impls" / "topk"
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    (folder / "exact.py").touch()
    return tmp_path


def test_in_a_worktree_it_is_the_worktree(tree):
    worktree = str(tree / "work")
    side = Side("base", "git:1", Catalog(), trees={"/r": "/elsewhere", "/s": worktree})
    assert side.within(replace(INFO, file=f"{worktree}/impls/topk/exact.py")) == worktree
    path = f"{worktree}/impls/topk/exact.py"
    assert side.within(replace(INFO, module=path, file=path)) == worktree


def test_in_the_working_tree_it_is_where_the_module_is_imported_from(tree):
    """Not beside the builder: a package may register what stands in its modules."""
    side, file = Side("candidate", ".", Catalog()), str(tree / "work/impls/topk/exact.py")
    assert side.within(replace(INFO, file=file)) == str(tree / "work")
    assert side.within(replace(INFO, module="impls.topk", file=file)) == str(tree / "work")
    assert side.within(replace(INFO, module="reexports", file=file)) is None


def test_of_a_plugin_by_path_it_is_its_folder(tree):
    (tree / "link.py").symlink_to(tree / "work/impls/topk/exact.py")
    side = Side("candidate", ".", Catalog())
    info = replace(INFO, module=str(tree / "link.py"), file=str(tree / "work/impls/topk/exact.py"))
    assert side.within(info) == str(tree / "work/impls/topk")
