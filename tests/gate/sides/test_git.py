"""The base commit, and worktrees of commits, in temporary repositories."""

import shlex
import subprocess

import pytest

from harness.core.errors import MachineError, UsageError
from harness.gate.sides.git import check_out, commit_of, default_commit, path_in_worktree, toplevel


@pytest.fixture
def work(repository):
    """A repository with one commit, `work.first`."""
    made = repository()
    made.first = made.commit(a="1")
    return made


def test_which_commit_is_the_base(work):
    """The merge base; on main the parent, or HEAD with edits; the first parent of a merge."""
    folder = work.folder
    work("update-ref", "refs/remotes/origin/master", "HEAD")
    work("switch", "--create", "feature")
    work.commit(a="2")
    assert default_commit(folder) == (work.first, "merge base with origin/master")
    work("switch", "main")
    main = work.commit({".gitignore": "venv/"}, b="1")
    work.origin_main()
    work("switch", "feature")
    assert default_commit(folder) == (work.first, "merge base with origin/main")
    work("switch", "main")
    # Files that a gate leaves do not count: the second gate would compare HEAD with itself
    for files in ((), {"results/gates/one/pairs.jsonl": "{}", "cache.log": "x", "venv/mine.py": "1"}):
        work.write(files)
        assert default_commit(folder) == (work.first, "first parent of HEAD, which is in origin/main")
    work("merge", "--no-ff", "--no-edit", "feature")
    work.origin_main()
    assert default_commit(folder)[0] == main
    last = work("rev-parse", "HEAD")
    for name in ("a", "new"):
        work.write(**{name: "3"})
        assert default_commit(folder) == (last, "HEAD, without uncommitted changes")
        work("checkout", "--", ".")


@pytest.mark.parametrize("branch", ["feature", "main"])
def test_in_a_shallow_clone_the_suggested_fetch_works(work, tmp_path, branch):
    work("branch", "feature")
    work.commit(a="2")
    work("switch", "feature")
    work.commit(b="1")
    clone = tmp_path / "a clone"
    command = ["git", "clone", "--depth=1", f"--branch={branch}", f"file://{work.folder}", str(clone)]
    subprocess.run(command, check=True, capture_output=True)
    with pytest.raises(UsageError, match="a shallow clone") as caught:
        default_commit(clone)
    assert f"git -C '{clone}' fetch --unshallow origin main" in str(caught.value)
    named = str(caught.value).split("run ")[1].split(", or")[0]
    subprocess.run(shlex.split(named), check=True, capture_output=True)
    assert default_commit(clone)[0] == work.first


def test_without_the_needed_commits_there_is_no_base(repository, work):
    with pytest.raises(UsageError, match="has no commits"):
        default_commit(repository("empty").folder)
    with pytest.raises(UsageError) as caught:
        default_commit(work.folder)
    fetch = f"git -C {work.folder} fetch origin main:refs/remotes/origin/main"
    assert str(caught.value).endswith(f"run {fetch}, or name a base with --against git:REF")
    work.origin_main()
    with pytest.raises(UsageError, match="its parent does not exist"):
        default_commit(work.folder)
    work("switch", "--orphan", "other")
    work.commit(a="2")
    with pytest.raises(UsageError, match="no common ancestor"):
        default_commit(work.folder)


@pytest.mark.parametrize("ref", ["mian", "--all", "HEAD:a.py"])
def test_an_unknown_ref(work, ref):
    with pytest.raises(UsageError) as caught:
        commit_of(work.folder, ref)
    assert f'{work.folder} has no commit "{ref}"' in str(caught.value)
    assert f"git -C {work.folder} fetch origin {ref}" in str(caught.value)


def test_which_repository_holds_a_file(work, tmp_path, monkeypatch):
    work.write({"pkg/a.py": "1", ".gitignore": "venv/", "venv/pkg/a.py": "1", "new.py": "1"})
    link = tmp_path / "link"
    link.symlink_to(work.folder / "pkg")
    (tmp_path / "b.py").touch()
    names = ("a.py", "pkg/a.py", "pkg", "new.py")
    inside = (work.folder, *(work.folder / name for name in names), link / "a.py")
    assert {toplevel(path) for path in inside} == {work.folder.resolve()}
    assert toplevel(tmp_path / "b.py") is None
    assert toplevel(work.folder / "venv" / "pkg" / "a.py") is None, "what it ignores is not its own"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert toplevel(work.folder) is None, "without git"


def test_a_hook_does_not_choose_the_repository(work, repository, monkeypatch):
    other = repository("other")
    other.commit(a="2")
    monkeypatch.setenv("GIT_DIR", str(other.folder / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other.folder / ".git" / "index"))
    assert toplevel(work.folder) == work.folder.resolve()
    assert commit_of(work.folder, "HEAD") == work.first


def trees_of(work):
    return work("worktree", "list", "--porcelain").count("worktree ")


@pytest.mark.parametrize("end", [KeyboardInterrupt, ValueError])
def test_worktrees_are_removed_however_the_gate_ends(work, tmp_path, end):
    with pytest.raises(end), check_out({work.folder: "HEAD"}, tmp_path / "scratch") as trees:  # noqa: PT012
        tree = trees[work.folder]
        (tree / "__pycache__").mkdir()
        (tree / "a.py").write_text("meddled with")
        raise end
    assert not tree.exists()
    assert trees_of(work) == 1


def test_the_first_worktree_is_removed_if_the_second_fails(work, repository, tmp_path):
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
def test_worktrees_of_a_killed_gate_are_removed(work, tmp_path, scratch_is_gone):
    work.commit(a="2")
    killed = check_out({work.folder: work.first}, tmp_path / "killed")
    tree = killed.__enter__()[work.folder]
    if scratch_is_gone:
        tree.rename(tmp_path / "gone")
    scratch = tmp_path / ("scratch" if scratch_is_gone else "killed")
    with check_out({work.folder: "HEAD"}, scratch) as trees:
        assert (trees[work.folder] / "a.py").read_text() == "2"
        assert trees_of(work) == 2
    assert trees_of(work) == 1


def test_hooks_do_not_run(work, tmp_path):
    work.commit(a="2")
    hook = work.folder / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path / 'ran'}\n")
    hook.chmod(0o755)
    work("checkout", "HEAD~1")
    (tmp_path / "ran").unlink()  # it runs if hooks are enabled
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


def test_a_submodule_that_is_not_cloned_stays_empty(work, repository, tmp_path):
    repository("library").commit(fast="old")
    work("-c", "protocol.file.allow=always", "submodule", "add", str(tmp_path / "library"), "third")
    work("commit", "--message", "x")
    work("submodule", "deinit", "--force", "third")
    with check_out({work.folder: "HEAD"}, tmp_path / "scratch") as trees:
        assert list((trees[work.folder] / "third").iterdir()) == []


def test_a_link_is_resolved_at_the_base(work, tmp_path):
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
