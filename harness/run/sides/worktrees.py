"""Commits checked out beside the working tree, for as long as a gate needs them."""

from __future__ import annotations

import shutil
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from harness.run.sides.repository import git
from harness.spec.errors import MachineError

CHECKOUT_SECONDS = 600.0


@contextmanager
def checked_out(commits: Mapping[Path, str], scratch: Path) -> Generator[dict[Path, Path]]:
    """A worktree below `scratch` for each repository's commit, gone at the end, however that comes.

    MachineError when one cannot be made.
    """
    trees: dict[Path, Path] = {}
    try:
        for number, (repo, commit) in enumerate(commits.items()):
            tree = scratch.resolve() / f"{number}-{repo.name}"
            _remove(repo, tree)  # a gate that was killed had no time to
            trees[repo] = tree
            _add(repo, tree, commit)
        yield trees
    finally:
        for repo, tree in trees.items():
            _remove(repo, tree)


def _add(repo: Path, tree: Path, commit: str) -> None:
    done = git(repo, "worktree", "add", "--detach", str(tree), commit, seconds=CHECKOUT_SECONDS)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        raise MachineError(
            f"git cannot check out {commit[:7]} of {repo} into {tree.parent} ({said}); "
            "free space there, and make the repository's .git writable"
        )


def _remove(repo: Path, tree: Path) -> None:
    if tree.exists():
        git(repo, "worktree", "remove", "--force", "--force", str(tree), seconds=CHECKOUT_SECONDS)
        shutil.rmtree(tree, ignore_errors=True)
    git(repo, "worktree", "prune")


def moved(path: Path, trees: Mapping[Path, Path]) -> Path | None:
    """Where a file of a repository lies in its worktree, if it exists there; None: in none of these."""
    place = path.resolve()
    holding = [repo for repo in trees if place.is_relative_to(repo)]
    if not holding:
        return None
    repo = max(holding, key=lambda repo: len(repo.parts))  # repositories may nest
    return trees[repo] / place.relative_to(repo)
