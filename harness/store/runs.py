"""A run's folder: run.json, records.jsonl, and the fingerprints and environments records point to.

Records are only ever appended, a group at a time, by one process. What a crash leaves of a group is still
readable; `repair` sets it aside before a run goes on.
"""

from __future__ import annotations

import gc
import hashlib
import os
import zlib
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.core.case import Case
from harness.core.errors import MachineError, UsageError
from harness.core.record import Record
from harness.core.regular_file import open_descriptor, open_regular, read_regular
from harness.store import json_file
from harness.store.append_file import AppendFile
from harness.store.atomic import refused, replace, write_files
from harness.store.jsonl import Line, encode, lines, split_whole
from harness.store.run_lock import run_lock

INFO = "run.json"
RECORDS = "records.jsonl"
DAMAGED = "records.damaged.jsonl"
WITHDRAWN = "records.withdrawn.jsonl"
FOREIGN = "records.foreign.jsonl"
FINGERPRINTS = "fingerprints.json"
ENVIRONMENTS = "environments.json"
CRASHES = "crashes"
RESTORE = "restore it, or name another run"
LONGEST_LOG = 20_000  # bytes of a crash's file that are shown
NOTES = "notes.md"  # what is known to be wrong with the data, by those who keep it
BUFFER_BYTES = 1 << 20  # of reading: a line has kilobytes, and the default holds two

RecordKey = tuple[str, int, str | None]


def line_hash(line: bytes) -> str:
    """What a document names a record by: SHA-256 of its line as it is stored, without the newline."""
    return hashlib.sha256(line).hexdigest()


@dataclass(frozen=True)
class Stored:
    """What a run's folder holds. `problems` are sentences about what could not be read."""

    info: Mapping[str, Any]
    records: tuple[Record, ...]
    problems: tuple[str, ...]


def is_run(path: Path) -> bool:
    return any((path / name).is_file() for name in (INFO, RECORDS))


def problems_of(info: Mapping[str, Any]) -> list[str]:
    """The sentences in run.json about what its writer noticed."""
    noted = info.get("problems")
    return [str(problem) for problem in noted] if isinstance(noted, list) else []


@contextmanager
def without_collector() -> Generator[None]:
    """Pause the garbage collector while records are read, and keep it off those that were.

    They hold no cycles, and walking millions of objects again and again takes a third of the time.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.freeze()
            gc.enable()


class RunFolder:
    """One run on disk. Raises MachineError when the machine does not let it write."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = AppendFile(path / RECORDS)
        self._tell: Callable[[str], None] = lambda _: None

    @property
    def id(self) -> str:
        return self.path.name

    @classmethod
    def create(cls, results: Path, run_id: str, info: Mapping[str, Any]) -> RunFolder:
        """A new folder under `results`/runs, which is made if missing. Fails before anything has run."""
        folder = cls(results / "runs" / run_id)
        try:
            folder.path.parent.mkdir(parents=True, exist_ok=True)
            folder.path.mkdir()
        except FileExistsError:
            raise MachineError(f"{folder.path} exists already; run the command again") from None
        except OSError as error:
            raise refused(folder.path, error) from None
        folder.write_info(info)
        folder.append(())
        return folder

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        if not is_run(path):
            raise UsageError(f"{path} holds no run: neither {INFO} nor {RECORDS} lies there")
        return cls(path)

    @property
    def info(self) -> dict[str, Any]:
        """run.json. UsageError when it is missing or damaged."""
        return json_file.read_object(self.path / INFO, RESTORE)

    def write_info(self, info: Mapping[str, Any]) -> None:
        replace(self.path / INFO, json_file.to_text(info))

    def update_info(self, **changed: Any) -> None:
        self.write_info({**self.info, **changed})

    def append(self, records: Sequence[Record]) -> None:
        """Add the records of one group in one flushed write; when it fails the file is as before."""
        data = b"".join(
            encode(record, (index, len(records))) for index, record in enumerate(records, start=1)
        )
        self._leave_out_foreign()
        try:
            self._file.append(data)
        except OSError as error:
            raise refused(self._file.path, error) from None

    @contextmanager
    def writing(self, command: str, tell: Callable[[str], None]) -> Generator[None]:
        """Be the only writer of this folder for as long as the block. MachineError names another one.

        records.jsonl is taken as it is at the beginning. What others write there meanwhile is left out, and
        told to `tell` and to run.json in a sentence. Who only reads needs no lock, and never waits.
        """
        with run_lock(self.path, command, tell):
            self._tell = tell
            self._file.trust()
            try:
                yield
            finally:
                self._leave_out_foreign()
                if not self._file.is_intact():
                    self._note(
                        f"{RECORDS}: lines of this run were changed by something else; quote none of it"
                    )

    def _leave_out_foreign(self) -> None:
        """Move what others have written behind the own last line to a file of its own."""
        try:
            foreign = self._file.foreign()
            if not foreign:
                return
            self._set_aside(FOREIGN, foreign)
            self._file.drop_foreign()
        except OSError as error:
            raise refused(self._file.path, error) from None
        self._note(
            f"{RECORDS}: {len(foreign)} bytes that this run did not write are left out; they are in {FOREIGN}"
        )

    def _note(self, problem: str) -> None:
        self.update_info(problems=[*problems_of(self.info), problem])
        self._tell(problem)

    def write_fingerprint(self, facts: Mapping[str, Any]) -> str:
        """Keep what must be equal for two timings to be compared; returns its `sha256:…`."""
        return self._keep(FINGERPRINTS, facts)

    def write_environment(self, facts: Mapping[str, Any]) -> str:
        """Keep what was merely so; returns its `sha256:…`."""
        return self._keep(ENVIRONMENTS, facts)

    def write_crash(self, case: Case, replicate: int, text: str) -> str:
        """Keep what there is to read of a crash; returns the file's path in this folder."""
        digest = zlib.crc32(f"{case.id} {replicate}".encode())
        name = f"{case.implementation.replace('/', '-')}-{case.seq}-{digest:08x}.txt"
        write_files(self.path / CRASHES, {name: text.encode(errors="replace")})
        return f"{CRASHES}/{name}"

    def fingerprints(self) -> dict[str, Any]:
        """All fingerprints of the run, by their hash."""
        return self._read_object(FINGERPRINTS)

    def environments(self) -> dict[str, Any]:
        """All environments of the run, by their hash."""
        return self._read_object(ENVIRONMENTS)

    def notes(self) -> str:
        """What stands in the run's notes.md: known errors of its data. Empty where there is no such file."""
        path = self.path / NOTES
        try:
            return read_regular(path).decode(errors="replace").strip() if path.exists() else ""
        except OSError as error:
            raise MachineError(f"{path}: cannot be read ({error.strerror}); mend or remove it") from None

    def _read_object(self, name: str) -> dict[str, Any]:
        path = self.path / name
        return json_file.read_object(path, RESTORE) if path.exists() else {}

    def _keep(self, name: str, facts: Mapping[str, Any]) -> str:
        key = json_file.digest(facts)
        kept = self._read_object(name)
        if key not in kept:
            replace(self.path / name, json_file.to_text({**kept, key: facts}))
        return key

    def read(self) -> Stored:
        """All readable records. A damaged line, or one stored twice, is a problem, and reading goes on."""
        problems: list[str] = []
        with without_collector():
            info, records = self.readable_info(problems), tuple(self.records(problems))
        return Stored(info, records, tuple(problems))

    def readable_info(self, problems: list[str]) -> dict[str, Any]:
        """run.json; empty where it cannot be read, which is added to `problems`."""
        try:
            info = self.info
        except UsageError as error:
            problems.append(str(error))
            return {}
        problems += problems_of(info)
        return info

    def records(self, problems: list[str], hashes: dict[RecordKey, str] | None = None) -> Iterator[Record]:
        """The readable records one by one; what could not be read is added to `problems` on the way.

        `hashes` are filled with the SHA-256 of each record's line, by the record's key.
        """
        seen: set[RecordKey] = set()
        for number, data, record, _, problem in self._lines():
            if record is None:
                problems.append(f"{RECORDS}:{number}: {problem}; its case is measured again by run --resume")
                continue
            key = record.key
            if key in seen:
                problems.append(f"{RECORDS}:{number}: {record.case} is stored twice; the first one counts")
            else:
                seen.add(key)
                if hashes is not None:
                    hashes[key] = line_hash(data)
                yield record

    def crash_log(self, name: str) -> str:
        """The end of a crash's file, by the name that a record has of it; empty where it cannot be read.

        Only a file in the folder of crashes is: the name comes from a record.
        """
        try:
            descriptor = open_descriptor(self.path / CRASHES / Path(name).name, os.O_RDONLY | os.O_NOFOLLOW)
        except OSError:
            return ""
        with os.fdopen(descriptor, "rb") as file:
            file.seek(max(os.fstat(file.fileno()).st_size - LONGEST_LOG, 0))
            return file.read(LONGEST_LOG).decode(errors="replace")

    def record_of_hash(self, beginning: str) -> Record | None:
        """The first record whose line's hash begins so; None where there is none."""
        beginnings = (line for line in self._lines() if line_hash(line.data).startswith(beginning))
        return next((line.record for line in beginnings if line.record is not None), None)

    def split(self) -> tuple[list[Line], list[Line]]:
        """(the lines of complete appends, the rest), as :func:`split_whole` tells them apart."""
        return split_whole(self._lines())

    def repair(self) -> tuple[str, ...]:
        """Make the file one of complete groups, so that a run can go on; says what was set aside.

        Lines of incomplete groups move to records.damaged.jsonl: nothing is lost, and a group is
        never compared across two sessions.
        """
        whole, rest = self.split()
        path, mended = self._file.path, _joined(whole)
        if not rest and (not path.exists() or path.stat().st_size == len(mended)):
            self._file.trust()
            return ()
        if rest:
            self._set_aside(DAMAGED, _joined(rest))
        self._rewrite(mended)
        return tuple(
            f"{RECORDS}:{line.number}: {line.problem or 'its group is incomplete'}; "
            f"moved to {DAMAGED}, and measured again"
            for line in rest
        )

    def withdraw(self, keys: Collection[tuple[str, int]]) -> None:
        """Take the records of these cases and replicates out, so that they can be measured again.

        They move to records.withdrawn.jsonl. Withdraw whole groups: half of an append is no group.
        """
        kept: list[Line] = []
        out: list[Line] = []
        for line in self._lines():
            goes = line.record is not None and line.record.key[:2] in keys
            (out if goes else kept).append(line)
        if out:
            self._set_aside(WITHDRAWN, _joined(out))
            self._rewrite(_joined(kept))

    def _rewrite(self, data: bytes) -> None:
        replace(self._file.path, data)
        self._file.trust()

    def _set_aside(self, name: str, out: bytes) -> None:
        """Add to the file of this name, whole or not at all."""
        aside = self.path / name
        replace(aside, (aside.read_bytes() if aside.exists() else b"") + out)

    def _lines(self) -> Iterator[Line]:
        path = self._file.path
        if not path.exists():
            return
        try:
            with open_regular(path, BUFFER_BYTES) as file:
                yield from lines(file)
        except OSError as error:
            raise MachineError(f"{path}: cannot be read ({error.strerror}); name another run") from None


def _joined(out: Iterable[Line]) -> bytes:
    return b"".join(line.data + b"\n" for line in out)
