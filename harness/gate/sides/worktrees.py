"""Git worktrees: commits checked out beside the working tree while a gate runs."""

import shutil
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from harness.core.errors import MachineError
from harness.gate.sides.git import git

CHECKOUT_SECONDS = 600.0
SUBMODULE = "160000"  # its file mode in `git ls-files --stage`


@contextmanager
def check_out(commits: Mapping[Path, str], scratch: Path) -> Generator[dict[Path, Path]]:
    """A worktree below `scratch` for each repository's commit; removed at the end, also after an error.

    MachineError when one cannot be made.
    """
    trees: dict[Path, Path] = {}
    made: list[tuple[Path, Path]] = []  # repositories and their worktrees, submodules after what holds them
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
            "free space there, and make the repository's .git writable"
        )


def _check_out_submodules(repo: Path, tree: Path, made: list[tuple[Path, Path]]) -> None:
    """Check out a worktree's submodules at the commits that it names, from the clones in the repository.

    A submodule that is not cloned here, or lacks the commit, stays an empty folder: nothing is fetched.
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
    """The path of a repository's file in its worktree, which may lack it; None outside of all repositories.

    A symbolic link that the worktree has is not resolved: at that commit it may lead elsewhere.
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
