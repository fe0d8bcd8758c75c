from pathlib import Path

import pytest

from harness.core.errors import MachineError
from harness.gate.sides.git import check_out, path_in_worktree


@pytest.fixture
def work(repository):
    made = repository()
    made.commit(a="old")
    made.commit(a="new")
    return made


def trees_of(work):
    return work("worktree", "list", "--porcelain").count("worktree ")


@pytest.mark.parametrize("end", [KeyboardInterrupt, ValueError, SystemExit])
def test_it_is_removed_however_the_gate_ends(work, tmp_path, end):
    with pytest.raises(end), check_out({work.folder: "HEAD"}, tmp_path / "scratch") as trees:  # noqa: PT012
        tree = trees[work.folder]
        (tree / "__pycache__").mkdir()
        (tree / "a.py").write_text("meddled with")
        raise end
    assert not tree.exists()
    assert trees_of(work) == 1


def test_the_first_is_removed_when_the_second_cannot_be_made(work, repository, tmp_path):
    other = repository("other")
    other.commit(a="1")
    (other.folder / ".git" / "worktrees").write_text("in the way")
    commits = {work.folder: "HEAD", other.folder: other("rev-parse", "HEAD")}
    with pytest.raises(MachineError) as caught, check_out(commits, tmp_path / "scratch"):
        pass
    assert str(other.folder) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert trees_of(work) == 1
    assert list((tmp_path / "scratch").iterdir()) == []


@pytest.mark.parametrize("scratch_is_gone", [True, False])
def test_a_gate_that_was_killed_leaves_nothing_behind(work, tmp_path, scratch_is_gone):
    killed = check_out({work.folder: "HEAD~1"}, tmp_path / "killed")
    tree = killed.__enter__()[work.folder]
    if scratch_is_gone:
        tree.rename(tmp_path / "gone")
    scratch = tmp_path / ("scratch" if scratch_is_gone else "killed")
    with check_out({work.folder: "HEAD"}, scratch) as trees:
        assert (trees[work.folder] / "a.py").read_text() == "new"
        assert trees_of(work) == 2
    assert trees_of(work) == 1


def test_hooks_do_not_run(work, tmp_path):
    hook = work.folder / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path / 'ran'}\n")
    hook.chmod(0o755)
    work("checkout", "HEAD~1")
    (tmp_path / "ran").unlink()  # it does where hooks are on
    with check_out({work.folder: "HEAD"}, tmp_path / "scratch"):
        assert not (tmp_path / "ran").exists()


def test_submodules_are_those_of_the_commit(work, repository, tmp_path):
    library = repository("library")
    library.commit(fast="old")
    work("-c", "protocol.file.allow=always", "submodule", "add", str(library.folder), "third")
    work("commit", "--message", "x")
    own = work.folder / "third"
    library.commit(fast="new")
    work("-C", "third", "pull")
    work("commit", "--all", "--message", "x")
    with check_out({work.folder: work("rev-parse", "HEAD~1")}, tmp_path / "scratch") as trees:
        assert (trees[work.folder] / "third" / "fast.py").read_text() == "old"
    assert (own / "fast.py").read_text() == "new"
    assert work("-C", "third", "worktree", "list", "--porcelain").count("worktree ") == 1
    assert trees_of(work) == 1


def test_a_submodule_that_is_not_here_stays_empty(work, repository, tmp_path):
    repository("library").commit(fast="old")
    work("-c", "protocol.file.allow=always", "submodule", "add", str(tmp_path / "library"), "third")
    work("commit", "--message", "x")
    work("submodule", "deinit", "--force", "third")
    with check_out({work.folder: "HEAD"}, tmp_path / "scratch") as trees:
        assert list((trees[work.folder] / "third").iterdir()) == []


def test_a_link_is_followed_where_it_led_at_the_base(work, tmp_path):
    (work.folder / "mine.py").symlink_to("a.py")
    work.commit(b="new")
    with check_out({work.folder: "HEAD"}, tmp_path / "scratch") as trees:
        (work.folder / "mine.py").unlink()
        (work.folder / "mine.py").symlink_to("b.py")
        tree = trees[work.folder]
        assert path_in_worktree(work.folder / "mine.py", trees).resolve() == tree / "a.py"
        (tmp_path / "outside.py").symlink_to(work.folder / "b.py")
        assert path_in_worktree(tmp_path / "outside.py", trees) == tree / "b.py"
        (work.folder / "later.py").symlink_to("b.py")
        assert path_in_worktree(work.folder / "later.py", trees) == tree / "b.py"


def test_where_a_file_lies_in_its_worktree(tmp_path):
    outer, inner = tmp_path / "r", tmp_path / "r" / "sub"
    trees = {outer: Path("/t/0"), inner: Path("/t/1")}
    assert path_in_worktree(outer / "pkg" / "gone.py", trees) == Path("/t/0/pkg/gone.py")
    assert path_in_worktree(inner / "a.py", trees) == Path("/t/1/a.py")
    assert path_in_worktree(outer, trees) == Path("/t/0")
    assert path_in_worktree(tmp_path / "r2" / "a.py", trees) is None
