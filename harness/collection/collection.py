"""Collecting: copies the runs of other folders into one, and joins shards. Repetition changes nothing."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.collection.joined_run import JoinedRun, Piece, joined_runs, read_pieces, whole_lines
from harness.core.errors import MachineError, SeqsweepError, UsageError
from harness.core.regular_file import read_regular
from harness.store.atomic import make_folder, write_files
from harness.store.find import runs_in
from harness.store.runs import RunFolder, run_lock
from harness.store.stored_run import CRASHES, ENVIRONMENTS, FINGERPRINTS, GZIPPED, INFO, RECORDS, is_run


@dataclass(frozen=True)
class Collection:
    """The outcome of collecting.

    `joined` are all sharded sweeps in the folder, `copied` the ids of new whole runs. `changed` is whether
    anything was written. `problems` are sentences about runs of the sources that were left out.
    """

    joined: tuple[JoinedRun, ...]
    copied: tuple[str, ...]
    problems: tuple[str, ...]
    changed: bool


def collect(sources: Sequence[Path], results: Path) -> Collection:
    """Collect the runs of the sources in `results`/runs.

    UsageError for a source without runs, and for a damaged joined run in `results`/runs.
    """
    problems: list[str] = []
    target = results / "runs"
    pieces: dict[str, Piece] = {}
    before: dict[str, dict[str, bytes]] = {}  # joined runs
    for folder in runs_in(target):
        if found := _pieces_here(folder):
            pieces |= {piece.run: piece for piece in found}
            if folder.info.get("shards"):
                before[folder.id] = run_files(folder.path)
    copies: dict[str, dict[str, bytes]] = {}
    for folder in (folder for source in sources for folder in _runs_of(source)):
        if folder.path.parent == target:
            continue
        try:
            if found := read_pieces(folder):
                pieces |= {piece.run: piece for piece in found if piece.run not in pieces}
            elif not (target / folder.id / INFO).is_file():
                whole_lines(folder)
                copies.setdefault(folder.id, run_files(folder.path))
        except SeqsweepError as error:
            problems.append(f"left out: {error}")
    joined = tuple(joined_runs(pieces.values()))
    wanted = {run.id: run.files() for run in joined}
    new = {name: files for name, files in {**wanted, **copies}.items() if before.get(name) != files}
    for name, files in new.items():
        write_run(target / name, files)
    for name in before.keys() - wanted.keys():  # its pieces are now in another joined run
        _delete(target / name)
    return Collection(joined, tuple(copies), tuple(problems), bool(new))


def _pieces_here(folder: RunFolder) -> list[Piece]:
    """The pieces of a run in the target folder; empty for a shard that is still being measured."""
    info = folder.readable_info([])
    if info.get("shards"):
        try:
            return read_pieces(folder)
        except SeqsweepError as error:
            raise UsageError(f"{error}; or delete this folder, and collect all of its shards again") from None
    try:
        return read_pieces(folder) if info.get("shard") else []
    except SeqsweepError:
        return []


def _runs_of(source: Path) -> list[RunFolder]:
    """The runs in a results folder or its folder `runs`, or the run of a run folder.

    A folder without runs may contain several results folders, for example one for each machine.
    """
    path = source.resolve()
    if is_run(path):
        return [RunFolder(path)]
    runs = runs_in(path / "runs") or runs_in(path)
    if not runs and path.is_dir():
        runs = [run for folder in sorted(path.iterdir()) for run in runs_in(folder / "runs")]
    if not runs:
        raise UsageError(f"{source} has no runs; name a results folder, or a run's folder")
    return runs


def run_files(folder: Path) -> dict[str, bytes]:
    """A run's files by their path in its folder. MachineError if one cannot be read."""
    forms = (FINGERPRINTS, ENVIRONMENTS, RECORDS, GZIPPED, INFO)
    names = [name for name in forms if (folder / name).exists()]
    crashes = [f"{CRASHES}/{path.name}" for path in sorted((folder / CRASHES).glob("*.txt"))]
    try:
        return {name: read_regular(folder / name) for name in [*crashes, *names]}
    except OSError as error:
        raise MachineError(f"{folder}: cannot be read ({error.strerror}); copy it again") from None


def write_run(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write a run's files in their order, each one atomically. MachineError if one cannot be written."""
    make_folder(folder)
    with run_lock(folder, "seqsweep collect", lambda _: None):
        for name, data in files.items():
            path = folder / name
            write_files(path.parent, {path.name: data})


def _delete(folder: Path) -> None:
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise MachineError(f"{folder}: cannot be deleted ({error.strerror}); delete it yourself") from None
