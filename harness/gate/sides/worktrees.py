"""Commits checked out beside the working tree, for as long as a gate needs them."""

from __future__ import annotations

import shutil
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from harness.core.errors import MachineError
from harness.gate.sides.git import git

CHECKOUT_SECONDS = 600.0
SUBMODULE = "160000"  # the mode that git lists one with


@contextmanager
def checked_out(commits: Mapping[Path, str], scratch: Path) -> Generator[dict[Path, Path]]:
    """A worktree below `scratch` for each repository's commit, gone at the end, however that comes.

    MachineError when one cannot be made.
    """
    trees: dict[Path, Path] = {}
    made: list[tuple[Path, Path]] = []  # repositories and their worktrees, submodules after what holds them
    try:
        for number, (repo, commit) in enumerate(commits.items()):
            tree = scratch.resolve() / f"{number}-{repo.name}"
            _remove(repo, tree)  # a gate that was killed had no time to
            made.append((repo, tree))
            _add(repo, tree, commit)
            _furnish(repo, tree, made)
            trees[repo] = tree
        yield trees
    finally:
        for repo, tree in reversed(made):
            _remove(repo, tree)


def _add(repo: Path, tree: Path, commit: str) -> None:
    done = git(repo, "worktree", "add", "--detach", str(tree), commit, seconds=CHECKOUT_SECONDS)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        raise MachineError(
            f"git cannot check out {commit[:7]} of {repo} into {tree.parent} ({said}); "
            "free space there, and make the repository's .git writable"
        )


def _furnish(repo: Path, tree: Path, made: list[tuple[Path, Path]]) -> None:
    """Check the submodules of a worktree out, as its commit names them, from where the repository has them.

    One that lies in no clone here, or lacks that commit, stays an empty folder: nothing is fetched.
    """
    if not (tree / ".gitmodules").is_file():
        return
    for line in git(tree, "ls-files", "--stage", "-z").stdout.split("\0"):
        entry, _, name = line.partition("\t")
        mode, _, rest = entry.partition(" ")
        commit, own = rest.partition(" ")[0], repo / name
        if mode != SUBMODULE or not (own / ".git").exists():
            continue
        if git(own, "cat-file", "-e", f"{commit}^{{commit}}").returncode == 0:
            made.append((own, tree / name))
            _add(own, tree / name, commit)
            _furnish(own, tree / name, made)


def _remove(repo: Path, tree: Path) -> None:
    if tree.exists():
        git(repo, "worktree", "remove", "--force", "--force", str(tree), seconds=CHECKOUT_SECONDS)
        shutil.rmtree(tree, ignore_errors=True)
    git(repo, "worktree", "prune")


def moved(path: Path, trees: Mapping[Path, Path]) -> Path | None:
    """Where a file of a repository lies in its worktree, if it exists there; None: in none of these.

    A link is the worktree's own, where it has it: it may have led elsewhere.
    """
    if path.is_symlink():
        link = _within(path.parent.resolve() / path.name, trees)
        if link is not None and link.exists():
            return link
    return _within(path.resolve(), trees)


def _within(place: Path, trees: Mapping[Path, Path]) -> Path | None:
    holding = [repo for repo in trees if place.is_relative_to(repo)]
    if not holding:
        return None
    repo = max(holding, key=lambda repo: len(repo.parts))  # repositories may nest
    return trees[repo] / place.relative_to(repo)
