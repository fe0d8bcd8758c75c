"""A piece: the run of one shard, as it lies in a folder of its own or joined with others."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from harness.core.errors import UsageError
from harness.core.fingerprint_identity import cache_texts, hashed_facts
from harness.core.record import Record
from harness.core.regular_file import read_regular
from harness.store.jsonl import Line
from harness.store.runs import RunFolder, is_run_id
from harness.store.stored_run import CRASHES

Key = tuple[str, int, str | None]  # of the first record of an append


@dataclass
class Piece:
    """A shard's run. `info` is its run.json; `appends` are its complete appends, by their first record.

    `fingerprints` and `environments` are those of its run, by their hash; `crashes` are files by name.
    """

    run: str
    info: Mapping[str, Any]
    appends: dict[Key, tuple[Line, ...]]
    fingerprints: dict[str, Any] = field(default_factory=dict[str, Any])
    environments: dict[str, Any] = field(default_factory=dict[str, Any])
    crashes: dict[str, bytes] = field(default_factory=dict[str, bytes])

    @property
    def index(self) -> int:
        return self.info["shard"]["index"]

    @property
    def count(self) -> int:
        return self.info["shard"]["count"]

    @property
    def sweep(self) -> tuple[Any, ...]:
        """Equal for the pieces that may be joined: one sweep by one version, and last the kind of machine."""
        kinds = tuple(sorted({kind_of_machine(facts) for facts in self.fingerprints.values()}))
        targets = tuple(self.info.get("targets") or ())
        return (self.info["shard"]["sweep"], self.info["depth"], self.info["version"], targets, kinds)

    @property
    def records(self) -> Iterator[Record]:
        return (line.record for lines in self.appends.values() for line in lines if line.record)

    @property
    def is_empty(self) -> bool:
        """Whether no case fell to it, so that its kind of machine is not known."""
        return not self._planned_cases()

    @property
    def why_not_whole(self) -> str:
        """Why it cannot be joined: it was interrupted, or copied halfway; empty where it can."""
        missing = self._planned_cases() - {record.case for record in self.records}
        if missing:
            return f"{len(missing)} of its cases have no record"
        return "" if self.info.get("finished") else "it has no end"

    def _planned_cases(self) -> set[str]:
        return {case for suite in self.info["suites"].values() for case in suite["cases"]}


def kind_of_machine(facts: Mapping[str, Any]) -> str:
    """Equal for machines whose figures may stand in one run: a fingerprint, and the sizes of caches, without
    the threads, which suites set, and without the number of the one GPU that was visible, where it was one.
    """
    flags = dict(facts.get("flags") or {})
    if flags.get("CUDA_VISIBLE_DEVICES", "").isdigit():
        del flags["CUDA_VISIBLE_DEVICES"]
    kind = {**hashed_facts(facts), **({"flags": flags} if "flags" in facts else {})}
    kind |= cache_texts(facts)
    return json.dumps({key: kind[key] for key in sorted(kind) if key != "threads"})


def read_pieces(folder: RunFolder) -> list[Piece]:
    """The pieces in a run's folder: one of a shard's own, several of a joined run, none of a whole sweep's.

    Each has its own appends, facts and crashes. SeqsweepError where one is not whole.
    """
    info = folder.info
    infos: Mapping[str, Any] = info.get("shards") or ({folder.id: info} if info.get("shard") else {})
    for run, piece_info in infos.items():
        if not is_run_id(run) or not _describes_shard(piece_info):
            raise UsageError(f"{folder.path}: its run.json does not describe a shard; copy it again")
    if not infos:
        return []
    whole = whole_lines(folder)
    pieces = {run: Piece(run, piece_info, {}) for run, piece_info in infos.items()}
    for append in _appends(whole):
        first = append[0].record
        if first is not None and (piece := pieces.get(first.run)):
            piece.appends[first.key] = append
    fingerprints, environments = folder.fingerprints(), folder.environments()
    for piece in pieces.values():
        if why := piece.why_not_whole:
            raise _not_whole(folder, f"shard {piece.index}/{piece.count}: {why}")
        records = list(piece.records)
        named = {record.environment for record in records}
        piece.fingerprints = fingerprints  # of all devices, so that shards of other devices are of one kind
        piece.environments = {key: state for key, state in environments.items() if key in named}
        piece.crashes = _crashes(folder, records)
    return list(pieces.values())


def whole_lines(folder: RunFolder) -> list[Line]:
    """The lines of a run's records. UsageError where they are torn."""
    whole, rest = folder.split()
    if rest:
        line = next((line for line in rest if line.problem), rest[0])
        raise _not_whole(folder, f"line {line.number}: {line.problem or 'its group is incomplete'}")
    return whole


def _not_whole(folder: RunFolder, why: str) -> UsageError:
    return UsageError(
        f"{folder.path}: {why}; copy it again, or finish it where it was measured with --resume"
    )


def _describes_shard(info: Mapping[str, Any]) -> bool:
    """Whether a run.json, of the right types, has what joining needs."""
    shard = info.get("shard")
    if shard is None or shard["index"] > shard["count"]:
        return False
    try:
        datetime.fromisoformat(info.get("started") or "")
    except ValueError:
        return False
    return all(info.get(name) for name in ("command", "depth", "suites", "version"))


def _appends(lines: Iterable[Line]) -> Iterator[tuple[Line, ...]]:
    """Complete appends, of lines that all belong to one."""
    begun: list[Line] = []
    for line in lines:
        begun.append(line)
        if line.part[0] == line.part[1]:
            yield tuple(begun)
            begun = []


def _crashes(folder: RunFolder, records: Iterable[Record]) -> dict[str, bytes]:
    """The files in the run's folder of crashes that its records name, and no others."""
    names = {record.crash_file.rpartition("/")[2] for record in records if record.crash_file}
    try:
        return {name: read_regular(folder.path / CRASHES / name) for name in sorted(names)}
    except OSError as error:
        raise _not_whole(folder, f"{error.filename}: cannot be read ({error.strerror})") from None
