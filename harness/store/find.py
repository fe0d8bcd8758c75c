"""Find a stored run by its id, the beginning of one, a path, `latest`, or `latest~1` for the one before."""

import re
from collections.abc import Sequence
from pathlib import Path

from harness.core.errors import MachineError, UsageError, nearest
from harness.store.runs import RunFolder, is_run_id
from harness.store.stored_run import is_run

LATEST = "latest"
KEPT = "reference"  # beside runs/: those that are kept for good
_SHOWN = 5
_BACK = re.compile(rf"{LATEST}(?:~(\d{{1,9}}))?")  # as git counts: ~1 is the one before


def local_folder(place: str | Path) -> Path:
    """The folder of a place that was typed. UsageError for a URL."""
    if "://" in str(place):
        raise UsageError(f"{place}: runs are in local folders; copy what lies there, and name the copy")
    return Path(place)


def all_runs(results: Path) -> list[RunFolder]:
    """The runs under `results`/runs, oldest first: ids sort by time; folders that were renamed come first."""
    return runs_in(results / "runs")


def runs_in(folder: Path) -> list[RunFolder]:
    """The runs that lie in a folder, in the same order; none where it does not exist.

    MachineError where the folder cannot be listed.
    """
    try:
        found = list(folder.iterdir()) if folder.is_dir() else []
    except OSError as error:
        raise MachineError(
            f"{folder}: cannot be read ({error.strerror}); name another place with --results"
        ) from None
    paths = sorted(found, key=lambda path: (is_run_id(path.name), path.name))
    return [RunFolder(path) for path in paths if is_run(path)]


def _run_at(name: str) -> Path | None:
    """The run at a path: its folder, or a file in it."""
    try:
        path = local_folder(name).resolve()
        folder = path.parent if path.is_file() else path
        return folder if is_run(folder) else None
    except OSError:
        return None  # no path of this machine: too long, or not ours to look at


def find(results: Path, name: str = LATEST) -> RunFolder:
    """A run by id, by unique beginning of its id, by path, or counted from the latest (`latest~2`).

    UsageError names the nearest run, or how many there are to count back over.
    """
    return find_among(all_runs(results), name, results / "runs")


def find_among(runs: Sequence[RunFolder], name: str, folder: Path) -> RunFolder:
    """The run that `name` means among those of a folder, oldest first; as :func:`find`."""
    beginning = [run for run in runs if run.id.startswith(name)]
    exact = [run for run in beginning if run.id == name]
    if exact or len(beginning) == 1:
        return (exact or beginning)[0]
    if beginning and name:
        shown = ", ".join(run.id for run in beginning[-_SHOWN:])
        raise UsageError(f'"{name}" begins {len(beginning)} runs; write more of one: {shown}')
    path = _run_at(name) if name else None
    if path:
        return RunFolder(path)
    if not runs:
        raise UsageError(f"no runs in {folder}; make one with: seqsweep run")
    if back := _BACK.fullmatch(name):
        steps = int(back[1] or 0)
        if steps < len(runs):
            return runs[-1 - steps]
        raise UsageError(
            f"{name}: the oldest run in {folder} is {LATEST}~{len(runs) - 1}; seqsweep runs lists them"
        )
    near = nearest(name, [run.id for run in runs[-_SHOWN:]])
    raise UsageError(f'no run "{name}" in {folder}{near}')
