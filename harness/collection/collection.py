"""Collecting: the runs of other folders into one, shards joined; doing it again changes nothing."""

import hashlib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.collection.joined_run import JoinedRun, joined_runs
from harness.collection.piece import Piece, read_pieces
from harness.core.errors import MachineError, UsageError
from harness.core.regular_file import read_regular
from harness.store.atomic import make_folder, write_files
from harness.store.find import runs_in
from harness.store.run_id import is_run_id
from harness.store.run_lock import run_lock
from harness.store.runs import RunFolder
from harness.store.stored_run import CRASHES, ENVIRONMENTS, FINGERPRINTS, INFO, RECORDS, is_run


@dataclass(frozen=True)
class Collection:
    """The outcome of collecting, or of a dry run of it.

    `joined` are all sweeps in shards of the folder, `copied` the ids of whole runs that it lacked. `problems`
    are sentences about what could not be taken. `stale` are sentences about joined runs of the folder that
    were not what their shards give, and now are.
    """

    joined: tuple[JoinedRun, ...]
    copied: tuple[str, ...]
    problems: tuple[str, ...]
    stale: tuple[str, ...]

    @property
    def changed(self) -> bool:
        """Whether the folder was not as it is now."""
        return bool(self.copied or self.stale)


def collect(sources: Sequence[Path], results: Path, *, dry_run: bool = False) -> Collection:
    """Bring the runs of the sources into `results`/runs. UsageError for a source without runs.

    A dry run writes nothing. Its problems are also what the joined runs lack.
    """
    problems: list[str] = []
    target = results / "runs"
    present = runs_in(target)
    found = [folder for source in sources for folder in _runs_of(source) if folder.path.parent != target]
    pieces: dict[str, Piece] = {}
    for folder in [*present, *found]:
        for piece in read_pieces(folder, problems):
            pieces[piece.run] = piece.merge(pieces[piece.run]) if piece.run in pieces else piece
    contents = {folder.id: run_files(folder.path) for folder in present if _is_joined(folder)}
    joined = joined_runs(pieces.values())
    wanted = {run.id: run.files() for run in joined}
    copies = _new_runs(
        [folder for folder in found if not (_is_joined(folder) or folder.readable_info([]).get("shard"))],
        target,
        problems,
    )
    stale = tuple(_stale(contents, wanted, target))
    if dry_run:
        problems += [f"{run.id}: {problem}" for run in joined for problem in run.problems]
    elif stale or copies:
        for name, files in {**wanted, **copies}.items():
            write_run(target / name, files)
        for name in contents.keys() - wanted.keys():  # its pieces stand in another one now
            _delete(target / name)
    return Collection(tuple(joined), tuple(copies), tuple(problems), stale)


def _stale(
    contents: Mapping[str, Mapping[str, bytes]], wanted: Mapping[str, Mapping[str, bytes]], target: Path
) -> Iterator[str]:
    """Sentences about joined runs whose files are not those that their shards give."""
    for name, files in wanted.items():
        known = contents.get(name)
        if known is None:
            yield f"{target / name}: is missing; its shards were not collected yet"
        elif unlike := sorted({file for file, _ in known.items() ^ files.items()}):
            yield f"{target / name}: {', '.join(unlike)}: not what its shards give"
    for name in sorted(contents.keys() - wanted.keys()):
        yield f"{target / name}: its shards belong to another joined run now"


def _runs_of(source: Path) -> list[RunFolder]:
    """The runs of a folder of results, of its folder `runs`, or the run that it is itself.

    A folder that has none is one of several folders of results, as a repository of many machines' is.
    """
    path = source.resolve()
    if is_run(path):
        return [RunFolder(path)]
    runs = runs_in(path / "runs") or runs_in(path)
    if not runs and path.is_dir():
        runs = [run for folder in sorted(path.iterdir()) for run in runs_in(folder / "runs")]
    if not runs:
        raise UsageError(f"{source} holds no runs; name a folder of results, or of one run")
    return runs


def _is_joined(folder: RunFolder) -> bool:
    return bool(folder.readable_info([]).get("shards"))


def _new_runs(wholes: Sequence[RunFolder], target: Path, problems: list[str]) -> dict[str, dict[str, bytes]]:
    """The files of whole runs that the target lacks, or has from before they went on."""
    new: dict[str, dict[str, bytes]] = {}
    for folder in wholes:
        ours = target / folder.id
        try:
            theirs = run_files(folder.path)
            known = new.get(folder.id) or (run_files(ours) if is_run(ours) else {})
        except OSError as error:
            problems.append(f"{folder.path}: cannot be read ({error.strerror}); it is left out")
            continue
        before, now = known.get(RECORDS, b""), theirs.get(RECORDS, b"")
        if not is_run_id(folder.id):
            problems.append(f"{folder.path}: its name is no run's id; it is left out")
        elif known and not (before.startswith(now) or now.startswith(before)):
            problems.append(f"{folder.path}: another run of this id lies in {ours}; it is left out")
        elif not known or len(now) > len(before) or _lags(ours, folder.path):
            new[folder.id] = theirs
    return new


def _lags(ours: Path, theirs: Path) -> bool:
    """Whether an earlier collecting was ended before it wrote run.json, which comes last."""
    infos = [RunFolder(path).readable_info([]) for path in (ours, theirs)]
    return not infos[0] or bool(infos[1].get("finished") and not infos[0].get("finished"))


def run_files(folder: Path) -> dict[str, bytes]:
    """A run's files by their path in its folder. OSError where one is no regular file."""
    names = [name for name in (FINGERPRINTS, ENVIRONMENTS, RECORDS, INFO) if (folder / name).exists()]
    crashes = [f"{CRASHES}/{path.name}" for path in sorted((folder / CRASHES).glob("*.txt"))]
    return {name: read_regular(folder / name) for name in [*crashes, *names]}


def run_digest(folder: Path) -> str:
    """A hash of a run's files, with their paths in its folder. OSError as of :func:`run_files`."""
    whole = hashlib.sha256()
    for name, data in sorted(run_files(folder).items()):
        whole.update(f"{name}\0{len(data)}\0".encode() + data)
    return whole.hexdigest()


def write_run(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write a run's files, each whole or not at all, in their order. MachineError where they cannot be."""
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
