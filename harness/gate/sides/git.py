"""Git commands of a gate: find a file's repository and the base commit, and check out worktrees.

They use only the local disk: git runs no hooks, uses no network and asks for no password.
"""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from harness.core.errors import MachineError, UsageError

SECONDS = 60.0
MAIN = "refs/remotes/origin/main"
MASTER = "refs/remotes/origin/master"  # if there is no main

# Git sets these for its hooks; inherited, they would redirect our commands to the hook's repository.
OF_A_HOOK = re.compile("GIT_(?!CONFIG|CEILING|DISCOVERY)")
QUIET = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",  # `git status` would refresh the index file
    "GIT_ALLOW_PROTOCOL": "none",  # a partial clone would fetch what it lacks
}


def git(folder: Path, *words: str, seconds: float = SECONDS) -> subprocess.CompletedProcess[str]:
    """Run git in a folder. MachineError if it cannot be run, or takes too long."""
    environment = {name: value for name, value in os.environ.items() if not OF_A_HOOK.match(name)}
    try:
        return subprocess.run(
            ["git", "-c", "core.hooksPath=/dev/null", "-C", str(folder), *words],
            env={**environment, **QUIET},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            timeout=seconds,
            check=False,
        )
    except OSError as error:
        raise MachineError(f"git cannot be started ({error.strerror}); install it") from None
    except subprocess.TimeoutExpired:
        raise MachineError(f"git {words[0]} in {folder} took more than {seconds:g} s; try again") from None


def toplevel(path: Path) -> Path | None:
    """The repository of a file or a folder; None if it has none, or if git is missing.

    Also None for a file that the repository ignores, for example in a virtual environment.
    """
    place = path.resolve()
    folder = place if place.is_dir() else place.parent
    if shutil.which("git") is None:
        return None
    answer = git(folder, "rev-parse", "--show-toplevel")
    if "dubious ownership" in answer.stderr:
        raise MachineError(
            f"git refuses the repository of {folder}, because another user owns it; "
            "run git config --global --add safe.directory with the repository's folder"
        )
    if answer.returncode or not answer.stdout:
        return None
    top = Path(answer.stdout.removesuffix("\n")).resolve()
    ignored = place != top and git(top, "check-ignore", "--quiet", "--", str(place)).returncode == 0
    return None if ignored else top


def commit_of(repo: Path, ref: str) -> str:
    """The commit that a ref names. UsageError if the repository does not have this ref."""
    commit = _commit(repo, ref)
    if commit is None:
        fetch = shlex.join(["git", "-C", str(repo), "fetch", "origin", ref])
        raise UsageError(f'{repo} has no commit "{ref}"; correct the name, or run {fetch} and use FETCH_HEAD')
    return commit


def default_commit(repo: Path) -> tuple[str, str]:
    """(the default base commit, how it was chosen). UsageError if the clone lacks the commits to choose it.

    On a branch: the merge base with origin/main, or with origin/master if only that exists. On main: HEAD if
    there are uncommitted changes, else its first parent.
    """
    head = _commit(repo, "HEAD")
    ref = MAIN if _commit(repo, MAIN) or not _commit(repo, MASTER) else MASTER
    main, name = _commit(repo, ref), ref.removeprefix("refs/remotes/")
    if head is None:
        raise UsageError(f"{repo} has no commits; commit, or name a base with --against impl:NAME")
    if main is None:
        raise _no_history(repo, "origin/main does not exist")
    base = git(repo, "merge-base", head, main).stdout.strip()
    if not base:
        raise _no_history(repo, f"HEAD and {name} have no common ancestor", ref)
    if base != head:
        return base, f"merge base with {name}"
    if _has_edits(repo):
        return head, "HEAD, without uncommitted changes"
    parent = _commit(repo, f"{head}^")
    if parent is None:
        raise _no_history(repo, f"HEAD is in {name} and its parent does not exist", ref)
    return parent, f"first parent of HEAD, which is in {name}"


def edited_files(repo: Path, tree: Path) -> list[Path]:
    """Tracked files that differ from a worktree's commit, as paths in the repository."""
    commit = git(tree, "rev-parse", "HEAD").stdout.strip()
    answer = git(repo, "diff", "--no-ext-diff", "--no-renames", "--name-only", "-z", commit, "--")
    if answer.returncode:
        raise MachineError(f"git cannot compare {repo} with {commit[:7]}: {answer.stderr.strip()}")
    return [repo / name for name in answer.stdout.split("\0") if name]


def new_files(repo: Path) -> list[Path]:
    """The untracked files, without ignored ones."""
    listing = git(repo, "ls-files", "--others", "--exclude-standard", "-z").stdout
    return [repo / name for name in listing.split("\0") if name]


def _has_edits(repo: Path) -> bool:
    """Whether the tree differs from HEAD. Untracked files count only if they are Python modules."""
    tracked = git(repo, "status", "--porcelain", "--untracked-files=no").stdout
    return bool(tracked) or any(file.suffix == ".py" for file in new_files(repo))


def _commit(repo: Path, ref: str) -> str | None:
    if not ref or ref.startswith("-"):  # git would parse it as an option
        return None
    return git(repo, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}").stdout.strip() or None


def _no_history(repo: Path, what: str, ref: str = MAIN) -> UsageError:
    shallow = git(repo, "rev-parse", "--is-shallow-repository").stdout.strip() == "true"
    depth = ["--unshallow"] if shallow else []
    fetch = shlex.join(["git", "-C", str(repo), "fetch", *depth, "origin", f"{ref.rpartition('/')[2]}:{ref}"])
    where = f"{repo}, a shallow clone" if shallow else str(repo)
    return UsageError(f"{what} in {where}; run {fetch}, or name a base with --against git:REF")


CHECKOUT_SECONDS = 600.0
SUBMODULE = "160000"  # its file mode in `git ls-files --stage`


@contextmanager
def check_out(commits: Mapping[Path, str], scratch: Path) -> Generator[dict[Path, Path]]:
    """Check out a worktree below `scratch` for each repository's commit, and remove them at the end.

    MachineError if one cannot be created.
    """
    trees: dict[Path, Path] = {}
    made: list[tuple[Path, Path]] = []  # repositories and worktrees; submodules after their parents
    try:
        for number, (repo, commit) in enumerate(commits.items()):
            tree = scratch.resolve() / f"{number}-{repo.name}"
            _remove(repo, tree)  # left by a gate that was killed
            made.append((repo, tree))
            _add(repo, tree, commit)
            _check_out_submodules(repo, tree, made)
            trees[repo] = tree
        yield trees
    finally:
        for repo, tree in reversed(made):
            _remove(repo, tree)


def _add(repo: Path, tree: Path, commit: str) -> None:
    result = git(repo, "worktree", "add", "--detach", str(tree), commit, seconds=CHECKOUT_SECONDS)
    if result.returncode:
        problem = (result.stderr.strip().splitlines() or [f"exit status {result.returncode}"])[-1]
        raise MachineError(
            f"git cannot check out {commit[:7]} of {repo} into {tree.parent} ({problem}); "
            "free disk space there, and make the repository's .git writable"
        )


def _check_out_submodules(repo: Path, tree: Path, made: list[tuple[Path, Path]]) -> None:
    """Check out a worktree's submodules at their recorded commits, from the clones in the repository.

    A submodule that is not cloned, or lacks the commit, stays an empty folder, because nothing is fetched.
    """
    if not (tree / ".gitmodules").is_file():
        return
    for line in git(tree, "ls-files", "--stage", "-z").stdout.split("\0"):
        entry, _, name = line.partition("\t")
        mode, _, rest = entry.partition(" ")
        commit, submodule = rest.partition(" ")[0], repo / name
        if mode != SUBMODULE or not (submodule / ".git").exists():
            continue
        if git(submodule, "cat-file", "-e", f"{commit}^{{commit}}").returncode == 0:
            made.append((submodule, tree / name))
            _add(submodule, tree / name, commit)
            _check_out_submodules(submodule, tree / name, made)


def _remove(repo: Path, tree: Path) -> None:
    if tree.exists():
        git(repo, "worktree", "remove", "--force", "--force", str(tree), seconds=CHECKOUT_SECONDS)
        shutil.rmtree(tree, ignore_errors=True)
    git(repo, "worktree", "prune")


def path_in_worktree(path: Path, trees: Mapping[Path, Path]) -> Path | None:
    """Path of a repository's file in its worktree, where it may not exist; None outside all repositories.

    A symbolic link that the worktree has is not resolved: at that commit it may have another target.
    """
    if path.is_symlink():
        link = _within(path.parent.resolve() / path.name, trees)
        if link is not None and link.exists():
            return link
    return _within(path.resolve(), trees)


def _within(place: Path, trees: Mapping[Path, Path]) -> Path | None:
    repositories = [repo for repo in trees if place.is_relative_to(repo)]
    if not repositories:
        return None
    repo = max(repositories, key=lambda repo: len(repo.parts))  # repositories may nest
    return trees[repo] / place.relative_to(repo)
