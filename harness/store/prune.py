"""Deleting old runs: the newest stay, and so does whatever is not plainly an old run of this folder."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.core.errors import MachineError, UsageError
from harness.core.file_lock import holder_of
from harness.store.find import all_runs
from harness.store.runs import LOCK, RunFolder, is_run_id, run_lock


@dataclass(frozen=True)
class PrunedRun:
    """An old run, and the bytes of its files. `left` says why it was not deleted; empty: it was."""

    path: str
    bytes: int
    left: str


def prune(results: Path, keep: int, *, dry_run: bool) -> Iterator[PrunedRun]:
    """Delete the runs under `results`/runs but the newest `keep`; what became of each, oldest first.

    Left alone: links, folders that somebody renamed, and runs that a process is writing. UsageError for
    a `keep` below 1, and where `results`/runs is a link; MachineError where a run cannot be deleted.
    """
    runs = results / "runs"
    if keep < 1:
        raise UsageError(f"--keep {keep}: at least one run stays; to have none, delete {runs}")
    if runs.is_symlink():
        raise UsageError(f"{runs} is a link; name the results that it leads to with --results")
    for folder in all_runs(results)[:-keep]:
        left = _reason_to_stay(folder)
        size = 0 if left else _size_of(folder.path)
        if not left and not dry_run:
            _delete(folder.path)
        yield PrunedRun(str(folder.path), size, left)


def _reason_to_stay(folder: RunFolder) -> str:
    """Why a run is not deleted; empty where it is."""
    if folder.path.is_symlink():
        return "it is a link"
    if not is_run_id(folder.id):
        return "somebody gave it a name of its own"
    try:
        holder = holder_of(folder.path / LOCK)
    except OSError as error:
        return f"whether it is being written cannot be told ({error.strerror})"
    return f"it is being written by {holder}" if holder else ""


def _size_of(path: Path) -> int:
    """The bytes of all files below a folder."""
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
