import shlex
import subprocess

import pytest

from harness.core.errors import UsageError
from harness.gate.sides.git import commit_of, default_commit, toplevel


@pytest.fixture
def work(repository):
    """A repository with one commit, `work.first`."""
    made = repository()
    made.first = made.commit(a="1")
    return made


def test_on_a_branch_the_base_is_where_it_left_main(work):
    work("switch", "--create", "feature")
    work.commit(a="2")
    work("switch", "main")
    work.commit(b="1")
    work.origin_main()
    work("switch", "feature")
    assert default_commit(work.folder) == (work.first, "merge base with origin/main")


def test_on_main_the_base_is_the_commit_before(work):
    """Also beside what a gate leaves: else the second gate would hold the last commit against itself."""
    work.commit({".gitignore": "venv/"}, a="2")
    work.origin_main()
    for files in ((), {"results/gates/one/pairs.jsonl": "{}", "cache.log": "x", "venv/mine.py": "1"}):
        work.write(files)
        commit, how = default_commit(work.folder)
        assert (commit, "first parent" in how) == (work.first, True)


def test_of_a_merge_it_is_the_first_parent(work):
    work("switch", "--create", "feature")
    work.commit(b="1")
    work("switch", "main")
    before = work.commit(a="2")
    work("merge", "--no-ff", "--no-edit", "feature")
    work.origin_main()
    assert default_commit(work.folder)[0] == before


@pytest.mark.parametrize("file", ["a", "new"])
def test_on_main_with_changes_the_base_is_the_last_commit(work, file):
    last = work.commit(a="2")
    work.origin_main()
    work.write(**{file: "3"})
    commit, how = default_commit(work.folder)
    assert (commit, "not committed" in how) == (last, True)


def test_a_repository_whose_branch_is_master(work):
    work("update-ref", "refs/remotes/origin/master", "HEAD")
    work.commit(a="2")
    assert default_commit(work.folder) == (work.first, "merge base with origin/master")
    work.origin_main()
    assert "which is in origin/main" in default_commit(work.folder)[1]


def test_without_origin_main_the_fetch_that_helps_is_named(work):
    with pytest.raises(UsageError) as caught:
        default_commit(work.folder)
    fetch = f"git -C {work.folder} fetch origin main:refs/remotes/origin/main"
    assert fetch in str(caught.value)
    assert "--against git:REF" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("branch", ["feature", "main"])
def test_in_a_shallow_clone_the_named_fetch_does_help(work, tmp_path, branch):
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


def test_without_a_common_commit_or_one_before_there_is_no_base(work):
    work.origin_main()
    with pytest.raises(UsageError, match="its parent is not known"):
        default_commit(work.folder)
    work("switch", "--orphan", "other")
    work.commit(a="2")
    with pytest.raises(UsageError, match="no common ancestor"):
        default_commit(work.folder)


def test_nothing_committed_yet(repository):
    with pytest.raises(UsageError, match="no commit yet"):
        default_commit(repository().folder)


@pytest.mark.parametrize("ref", ["mian", "--all", "HEAD:a.py"])
def test_a_name_that_means_no_commit(work, ref):
    with pytest.raises(UsageError) as caught:
        commit_of(work.folder, ref)
    assert f'{work.folder} knows no commit "{ref}"' in str(caught.value)
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
