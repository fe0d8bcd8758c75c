"""Find a stored run by its id, a prefix of its id, a path, `latest`, or `latest~1` for the previous run."""

import re
from collections.abc import Sequence
from pathlib import Path

from harness.core.errors import MachineError, UsageError, nearest
from harness.store.runs import RunFolder, is_run_id
from harness.store.stored_run import is_run

LATEST = "latest"
REFERENCE = "reference"  # next to runs/: runs that are stored permanently
_SHOWN = 5
_BACK = re.compile(rf"{LATEST}(?:~(\d{{1,9}}))?")  # as in git: ~1 is the previous run


def local_folder(place: str | Path) -> Path:
    """The path of a typed folder. UsageError for a URL."""
    if "://" in str(place):
        raise UsageError(f"{place}: runs must be in local folders; copy them, and name the copy")
    return Path(place)


def all_runs(results: Path) -> list[RunFolder]:
    """The runs in `results`/runs, oldest first: ids sort by time, and renamed folders come first."""
    return runs_in(results / "runs")


def runs_in(folder: Path) -> list[RunFolder]:
    """The runs in a folder, in the same order; empty if it does not exist.

    MachineError if the folder cannot be listed.
    """
    try:
        found = list(folder.iterdir()) if folder.is_dir() else []
    except OSError as error:
        raise MachineError(
            f"{folder}: cannot be read ({error.strerror}); use another folder with --results"
        ) from None
    paths = sorted(found, key=lambda path: (is_run_id(path.name), path.name))
    return [RunFolder(path) for path in paths if is_run(path)]


def _run_at(name: str) -> Path | None:
    """The folder of the run at a path, which is the folder or a file in it."""
    try:
        path = local_folder(name).resolve()
        folder = path.parent if path.is_file() else path
        return folder if is_run(folder) else None
    except OSError:
        return None  # not a path on this machine: too long, or not readable


def find(results: Path, name: str = LATEST) -> RunFolder:
    """A run by id, by unique prefix of its id, by path, or counted from the latest (`latest~2`).

    UsageError names the nearest run, or the oldest one.
    """
    return find_among(all_runs(results), name, results / "runs")


def find_among(runs: Sequence[RunFolder], name: str, folder: Path) -> RunFolder:
    """The run with this name among the runs of a folder, oldest first; see :func:`find`."""
    prefixed = [run for run in runs if run.id.startswith(name)]
    exact = [run for run in prefixed if run.id == name]
    if exact or len(prefixed) == 1:
        return (exact or prefixed)[0]
    if prefixed and name:
        shown = ", ".join(run.id for run in prefixed[-_SHOWN:])
        raise UsageError(f'"{name}" is a prefix of {len(prefixed)} runs; write more characters: {shown}')
    path = _run_at(name) if name else None
    if path:
        return RunFolder(path)
    if not runs:
        raise UsageError(f"no runs in {folder}; start one with: seqsweep run")
    if back := _BACK.fullmatch(name):
        steps = int(back[1] or 0)
        if steps < len(runs):
            return runs[-1 - steps]
        raise UsageError(
            f"{name}: the oldest run in {folder} is {LATEST}~{len(runs) - 1}; list them with seqsweep runs"
        )
    near = nearest(name, [run.id for run in runs[-_SHOWN:]])
    raise UsageError(f'no run "{name}" in {folder}{near}')
