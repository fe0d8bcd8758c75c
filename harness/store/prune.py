"""Deleting old runs: keeps the newest ones, and everything that is not clearly an old run of this folder."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.core.errors import MachineError, UsageError
from harness.core.file_lock import holder_of
from harness.store.find import all_runs
from harness.store.runs import LOCK, is_run_id, run_lock


@dataclass(frozen=True)
class PrunedRun:
    """An old run, and the bytes of its files. `left` is why it was not deleted; empty if it was."""

    path: str
    bytes: int
    left: str


def prune(results: Path, keep: int, *, dry_run: bool) -> Iterator[PrunedRun]:
    """Delete all but the newest `keep` runs in `results`/runs, and yield each old run, oldest first.

    Links, renamed folders, and runs that a process is writing are not deleted. UsageError for a `keep` below
    1, or if `results`/runs is a link; MachineError if a run cannot be deleted.
    """
    runs = results / "runs"
    if keep < 1:
        raise UsageError(f"--keep {keep}: must be at least 1; to delete all runs, delete {runs}")
    if runs.is_symlink():
        raise UsageError(f"{runs} is a link; use its target with --results")
    plain = [run.path for run in all_runs(results) if is_run_id(run.id) and not run.path.is_symlink()]
    for path in plain[:-keep]:
        holder = holder_of(path / LOCK)
        left = f"it is being written by {holder}" if holder else ""
        size = 0 if left else _size_of(path)
        if not left and not dry_run:
            _delete(path)
        yield PrunedRun(str(path), size, left)


def _size_of(path: Path) -> int:
    """The total size of all files in a folder tree, in bytes."""
    return sum(file.lstat().st_size for file in path.rglob("*") if not file.is_dir())


def _delete(path: Path) -> None:
    def refuse(problem: str) -> None:
        raise MachineError(problem)

    try:
        with run_lock(path, "seqsweep runs --keep", refuse):
            shutil.rmtree(path)
    except OSError as error:
        raise MachineError(
            f"{path}: cannot be deleted ({error.strerror or error}); delete it yourself"
        ) from None
