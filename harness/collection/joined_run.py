"""A joined run: the pieces of one sweep from machines of one kind, as one run that every command reads.

It depends only on its pieces: its files are identical for every order, number and source of collections.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from harness.core.errors import UsageError
from harness.core.fingerprint_identity import cache_texts, hashed_facts
from harness.core.grouped import grouped
from harness.core.record import Record
from harness.core.regular_file import read_regular
from harness.store import json_file
from harness.store.jsonl import Line
from harness.store.runs import RunFolder, is_run_id, new_run_id
from harness.store.stored_run import CRASHES, ENVIRONMENTS, FINGERPRINTS, INFO, RECORDS


@dataclass
class Piece:
    """A shard's run: `info` is its run.json, `lines` are the lines of its records.

    `fingerprints` and `environments` are by their hash; `crashes` are files by name.
    """

    run: str
    info: Mapping[str, Any]
    lines: list[Line]
    fingerprints: dict[str, Any]
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
        """The key of joinable pieces: the sweep, the version, and last the kind of machine."""
        kinds = tuple(sorted({kind_of_machine(facts) for facts in self.fingerprints.values()}))
        targets = tuple(self.info.get("targets") or ())
        return (self.info["shard"]["sweep"], self.info["depth"], self.info["version"], targets, kinds)

    @property
    def records(self) -> Iterator[Record]:
        return (line.record for line in self.lines if line.record)

    @property
    def why_not_whole(self) -> str:
        """Why it cannot be joined, for example after an incomplete copy; empty if it can."""
        planned = {case for suite in self.info["suites"].values() for case in suite["cases"]}
        if missing := planned - {record.case for record in self.records}:
            return f"{len(missing)} of its cases have no record"
        return "" if self.info.get("finished") else "it is not finished"


def kind_of_machine(facts: Mapping[str, Any]) -> str:
    """The key of machines with figures that may be joined: fingerprint and sizes of caches.

    It does not have the threads, which suites set, or the number of a single visible GPU.
    """
    kind = {**hashed_facts(facts), **cache_texts(facts), "threads": None}
    flags = dict(facts.get("flags") or {})
    if flags.get("CUDA_VISIBLE_DEVICES", "").isdigit():
        kind["flags"] = {name: flags[name] for name in flags if name != "CUDA_VISIBLE_DEVICES"}
    return json.dumps(kind, sort_keys=True)


def read_pieces(folder: RunFolder) -> list[Piece]:
    """The pieces in a run's folder: one for a shard, several for a joined run, none for a whole sweep.

    Each piece has its appends, facts and crashes. SeqsweepError if a piece is incomplete.
    """
    info = folder.info
    infos: Mapping[str, Any] = info.get("shards") or ({folder.id: info} if info.get("shard") else {})
    for run, piece_info in infos.items():
        if not is_run_id(run) or not _describes_shard(piece_info):
            raise UsageError(f"{folder.path}: its run.json does not describe a shard; copy it again")
    if not infos:
        return []
    lines: dict[str, list[Line]] = {run: [] for run in infos}
    for line in whole_lines(folder):
        if line.record is not None and line.record.run in lines:
            lines[line.record.run].append(line)
    fingerprints, environments = folder.fingerprints(), folder.environments()
    pieces: list[Piece] = []
    for run, own in lines.items():
        # The fingerprints of all devices, so that shards of different devices have the same kind.
        piece = Piece(run, infos[run], own, fingerprints)
        if why := piece.why_not_whole:
            raise _not_whole(folder, f"shard {piece.index}/{piece.count}: {why}")
        named = {record.environment for record in piece.records}
        piece.environments = {key: state for key, state in environments.items() if key in named}
        piece.crashes = _crashes(folder, piece.records)
        pieces.append(piece)
    return pieces


def whole_lines(folder: RunFolder) -> list[Line]:
    """The lines of a run's records. UsageError if one is incomplete."""
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
    """Whether a run.json, with the right types, has the fields that joining needs."""
    shard = info.get("shard")
    if shard is None or shard["index"] > shard["count"]:
        return False
    try:
        datetime.fromisoformat(info.get("started") or "")
    except ValueError:
        return False
    return all(info.get(name) for name in ("command", "depth", "suites", "version"))


def _crashes(folder: RunFolder, records: Iterable[Record]) -> dict[str, bytes]:
    """The files in the run's crashes folder that its records name."""
    names = {record.crash_file.rpartition("/")[2] for record in records if record.crash_file}
    try:
        return {name: read_regular(folder.path / CRASHES / name) for name in sorted(names)}
    except OSError as error:
        raise _not_whole(folder, f"{error.filename}: cannot be read ({error.strerror})") from None


@dataclass(frozen=True)
class JoinedRun:
    """Pieces by ascending shard, at most one of each shard."""

    pieces: tuple[Piece, ...]

    @property
    def id(self) -> str:
        """An id from the earliest start and the first run, so that joins in one second have different ids."""
        started = min(piece.info["started"] for piece in self.pieces)
        first = min(piece.run for piece in self.pieces)
        return new_run_id(datetime.fromisoformat(started), f"joined {first}")

    @property
    def count(self) -> int:
        return self.pieces[0].count

    @property
    def shards(self) -> tuple[int, ...]:
        return tuple(piece.index for piece in self.pieces)

    @property
    def absent(self) -> tuple[int, ...]:
        return tuple(sorted({*range(1, self.count + 1)} - {*self.shards}))

    @property
    def info(self) -> dict[str, Any]:
        """The joined run.json, with the pieces' run.json in `shards`; unfinished while shards are missing."""
        first = self.pieces[0].info
        return {
            **{key: value for key, value in first.items() if key not in ("shard", "largest")},
            "run": self.id,
            "command": without_flag(first["command"], "--shard"),
            "started": min(piece.info["started"] for piece in self.pieces),
            "finished": None if self.absent else max(piece.info["finished"] for piece in self.pieces),
            "suites": self._suites(),
            "overhead": None,
            "largest": [fit for piece in self.pieces for fit in piece.info.get("largest") or ()],
            "problems": [],
            "shards": {piece.run: dict(piece.info) for piece in self.pieces},
        }

    def _suites(self) -> dict[str, Any]:
        """The suites with the cases of all pieces."""
        suites: dict[str, Any] = {}
        for piece in self.pieces:
            for name, suite in piece.info["suites"].items():
                suites.setdefault(name, {**suite, "cases": []})["cases"] += suite["cases"]
        return suites

    def files(self) -> dict[str, bytes]:
        """The contents of its files by their path in its folder, run.json last."""
        crashes = _union(piece.crashes for piece in self.pieces)
        tables = {
            FINGERPRINTS: _union(piece.fingerprints for piece in self.pieces),
            ENVIRONMENTS: _union(piece.environments for piece in self.pieces),
        }
        return {
            **{f"{CRASHES}/{name}": text for name, text in crashes.items()},
            **{name: json_file.to_text(table) for name, table in tables.items()},
            RECORDS: b"".join(line.data + b"\n" for piece in self.pieces for line in piece.lines),
            INFO: json_file.to_text(self.info),
        }


def joined_runs(pieces: Iterable[Piece]) -> list[JoinedRun]:
    """Join the pieces to runs, one for each sweep and kind of machine.

    If two runs measured the same shard, the later one starts a second joined run: it repeats the measurement,
    and is not mixed with the first.
    """
    sweeps: dict[tuple[Any, ...], dict[tuple[int, int], Piece]] = {}
    for piece in sorted(pieces, key=lambda piece: piece.run):
        shards = sweeps.setdefault(piece.sweep, {})
        turn = sum(index == piece.index for _, index in shards)
        shards[turn, piece.index] = piece
    return [
        JoinedRun(tuple(shards[key] for key in keys))
        for _, shards in sorted(sweeps.items())
        for keys in grouped(sorted(shards), lambda key: key[0]).values()
    ]


def without_flag(command: Sequence[str], flag: str) -> list[str]:
    """The arguments of a command without a flag and its argument."""
    arguments = list(command)
    if flag in arguments:
        at = arguments.index(flag)
        del arguments[at : at + 2]
    return [each for each in arguments if not each.startswith(f"{flag}=")]


def _union(tables: Iterable[dict[str, Any]]) -> dict[str, Any]:
    merged = {key: value for table in tables for key, value in table.items()}
    return dict(sorted(merged.items()))


def describe_joined(run: JoinedRun) -> str:
    """`20261120T113000Z-1a2b3c4: topk, 2 of 8 shards, 96 records on AMD EPYC; missing: 3, 4, 5, 6, 7, 8`."""
    first, records = run.pieces[0], sum(1 for piece in run.pieces for _ in piece.records)
    machine = next((facts.get("cpu") for facts in first.fingerprints.values()), None)
    on = f" on {machine}" if machine else ""
    absent = f"; missing: {', '.join(map(str, run.absent))}" if run.absent else ""
    shards = f"{len(run.shards)} of {run.count} shards"
    return f"{run.id}: {', '.join(first.info['suites'])}, {shards}, {records} records{on}{absent}"


def joined_data(run: JoinedRun) -> dict[str, Any]:
    """A joined run for --json: its shards, and the absent ones."""
    return {"run": run.id, "shards": run.shards, "of": run.count, "absent": run.absent}
