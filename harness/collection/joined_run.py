"""A joined run: the pieces of one sweep from machines of one kind, as one run that every command reads.

It is a function of its pieces alone: in whichever order, how often and from where they were collected, its
files are the same byte for byte.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Any

from harness.collection.piece import Piece
from harness.store import json_file
from harness.store.runs import new_run_id
from harness.store.stored_run import CRASHES, ENVIRONMENTS, FINGERPRINTS, INFO, RECORDS


@dataclass(frozen=True)
class JoinedRun:
    """Pieces by ascending shard, at most one of each shard."""

    pieces: tuple[Piece, ...]

    @property
    def id(self) -> str:
        """An id by the earliest start and the first run, so that joins of one second have different ids.

        Shards without a case do not count: they belong to the joined runs of several kinds of machine.
        """
        measured = [piece for piece in self.pieces if not piece.is_empty] or self.pieces
        started = min(piece.info["started"] for piece in measured)
        first = min(piece.run for piece in measured)
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
        """The joined run.json, with each piece's own under `shards`; unfinished while shards are missing."""
        first = self.pieces[0].info
        return {
            **{key: value for key, value in first.items() if key not in ("shard", "largest", "node")},
            "run": self.id,
            "command": without_shard(first["command"]),
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
            RECORDS: self._records(),
            INFO: json_file.to_text(self.info),
        }

    def _records(self) -> bytes:
        """All appends as they were written, by shard and then by their first case."""
        appends = [piece.appends[key] for piece in self.pieces for key in sorted(piece.appends, key=str)]
        return b"".join(line.data + b"\n" for line in chain(*appends))


def joined_runs(pieces: Iterable[Piece]) -> list[JoinedRun]:
    """The pieces as joined runs, one for each sweep and kind of machine.

    Where two runs took the same shard, the later one begins a second joined run: it repeats the measurement,
    and is never mixed into the first. A shard without a case is a part of its sweep on every kind of machine.
    """
    sweeps: dict[tuple[Any, ...], dict[int, list[Piece]]] = {}
    for piece in sorted(pieces, key=lambda piece: (piece.is_empty, piece.run)):
        alike = [sweep for sweep in sweeps if sweep[:-1] == piece.sweep[:-1]] if piece.is_empty else []
        for sweep in alike or [piece.sweep]:
            sweeps.setdefault(sweep, {}).setdefault(piece.index, []).append(piece)
    return [run for _, shards in sorted(sweeps.items()) for run in _repetitions(shards)]


def _repetitions(shards: Mapping[int, Sequence[Piece]]) -> Iterator[JoinedRun]:
    """The first run of every shard together, then the second ones; a shard without a case is in each."""
    times = max((len(runs) for runs in shards.values() if not runs[0].is_empty), default=1)
    for turn in range(times):
        taken = (
            runs[:1] if runs[0].is_empty else runs[turn : turn + 1] for _, runs in sorted(shards.items())
        )
        yield JoinedRun(tuple(chain.from_iterable(taken)))


def without_shard(command: Sequence[str]) -> list[str]:
    """The words of a command without its --shard."""
    words = list(command)
    if "--shard" in words:
        at = words.index("--shard")
        del words[at : at + 2]
    return [word for word in words if not word.startswith("--shard=")]


def _union(tables: Iterable[dict[str, Any]]) -> dict[str, Any]:
    merged = {key: value for table in tables for key, value in table.items()}
    return dict(sorted(merged.items()))


def describe_joined(run: JoinedRun) -> str:
    """`20261120T113000Z-1a2b3c4: topk, shards 1-2 of 8, 96 records on AMD EPYC; absent: 3-8`."""
    records = sum(1 for piece in run.pieces for _ in piece.records)
    suites = ", ".join(run.pieces[0].info["suites"])
    machine = next((facts.get("cpu") for facts in run.pieces[0].fingerprints.values()), None)
    on = f" on {machine}" if machine else ""
    absent = f"; absent: {_format_ranges(run.absent)}" if run.absent else ""
    shards = f"shards {_format_ranges(run.shards)} of {run.count}"
    return f"{run.id}: {suites}, {shards}, {records} records{on}{absent}"


def _format_ranges(numbers: Sequence[int]) -> str:
    """`1-3, 7`."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][-1] + 1:
            spans[-1][1:] = [number]
        else:
            spans.append([number])
    return ", ".join("-".join(map(str, span)) for span in spans)


def joined_data(run: JoinedRun) -> dict[str, Any]:
    """A joined run for --json: which shards it has, and which are absent."""
    return {"run": run.id, "shards": run.shards, "of": run.count, "absent": run.absent}
