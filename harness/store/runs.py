"""Writing a run's folder: one process appends the records of one group at a time.

Records of a group that a crash has cut off are still readable; `repair` moves them before a run continues.
"""

from __future__ import annotations

import hashlib
import os
import re
import zlib
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from harness.core.case import Case
from harness.core.errors import MachineError
from harness.core.file_lock import FileLock
from harness.core.record import Record
from harness.core.regular_file import open_descriptor
from harness.core.shown_text import file_name
from harness.store import json_file
from harness.store.atomic import make_folder, replace, write_all, write_error, write_files
from harness.store.jsonl import Line, encode
from harness.store.stored_run import (
    CRASHES,
    ENVIRONMENTS,
    FINGERPRINTS,
    GZIPPED,
    INFO,
    RECORDS,
    StoredRun,
    fingerprint_id,
)

LOCK = "run.lock"  # a separate file, because records.jsonl and run.json may be replaced


@contextmanager
def run_lock(folder: Path, command: str, warn: Callable[[str], None]) -> Generator[None]:
    """Lock a run's folder during the block; MachineError names the process that has locked it.

    If the file system has no locks, `warn` is called with a sentence, and the block runs without a lock.
    """
    path = folder / LOCK
    try:
        lock = FileLock(path)
    except OSError as error:
        raise write_error(path, error) from None
    with closing(lock):
        try:
            taken = lock.take(command)
        except OSError as error:
            taken = True
            warn(f"{path} cannot be locked ({error.strerror}); do not resume this run twice at once")
        if not taken:
            raise MachineError(
                f"run {folder.name} is being written by {lock.holder()}; wait for it, or end it"
            )
        yield


DAMAGED = "records.damaged.jsonl"
WITHDRAWN = "records.withdrawn.jsonl"


class RunFolder(StoredRun):
    """One run on disk, for its writer. Raises MachineError if it cannot write."""

    @classmethod
    def create(cls, results: Path, run_id: str, info: Mapping[str, Any]) -> RunFolder:
        """Create a folder in `results`/runs, so that an error occurs before anything has run."""
        folder = cls(results / "runs" / run_id)
        make_folder(folder.path.parent)
        try:
            folder.path.mkdir()
        except OSError as error:
            raise write_error(folder.path, error) from None
        folder.write_info(info)
        folder.append(())
        return folder

    def write_info(self, info: Mapping[str, Any]) -> None:
        replace(self.path / INFO, json_file.to_text(info))

    def update_info(self, **changed: Any) -> None:
        self.write_info({**self.info, **changed})

    def append(self, records: Sequence[Record]) -> None:
        """Append the records of one group in one flushed write; if it fails, the file does not change.

        MachineError if the file ends in an incomplete line.
        """
        data, path = encode(records), self.path / RECORDS
        try:
            descriptor = open_descriptor(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                end = os.fstat(descriptor).st_size
                if end and os.pread(descriptor, 1, end - 1) != b"\n":
                    raise MachineError(
                        f"{path} ends in an incomplete line; continue with run --resume, which repairs it"
                    )
                try:
                    write_all(descriptor, data)
                except BaseException:  # also Ctrl-C between two partial writes
                    os.ftruncate(descriptor, end)
                    raise
            finally:
                os.close(descriptor)
        except OSError as error:
            raise write_error(path, error) from None

    @contextmanager
    def writing(self, command: str, warn: Callable[[str], None]) -> Generator[None]:
        """Lock this folder for writing during the block. MachineError names another writer.

        Readers need no lock and never wait. If locks do not work, `warn` is called with a sentence.
        """
        if not (self.path / RECORDS).exists() and (packed := self.path / GZIPPED).exists():
            raise MachineError(f"{packed} is read-only; gunzip it, and run the command again")
        with run_lock(self.path, command, warn):
            try:
                yield
            finally:
                if not self.path.is_dir():
                    raise MachineError(
                        f"{self.path} was moved or removed while it was written; "
                        "move it back, and continue with run --resume"
                    ) from None

    def write_fingerprint(self, facts: Mapping[str, Any]) -> str:
        """Store the facts that must be equal before two timings are compared; return their `sha256:…`."""
        return self._store(FINGERPRINTS, fingerprint_id(facts), facts)

    def write_environment(self, facts: Mapping[str, Any]) -> str:
        """Store other facts, for example time, load and commit; return their `sha256:…`."""
        return self._store(ENVIRONMENTS, json_file.digest(facts), facts)

    def write_crash(self, case: Case, replicate: int, text: str) -> str:
        """Store the output of a crash; return the file's path in this folder."""
        digest = zlib.crc32(f"{case.id} {replicate}".encode())
        name = f"{file_name(case.implementation.replace('/', '-'))}-{case.seq}-{digest:08x}.txt"
        write_files(self.path / CRASHES, {name: text.encode(errors="replace")})
        return f"{CRASHES}/{name}"

    def _store(self, name: str, key: str, facts: Mapping[str, Any]) -> str:
        stored = self._read_object(name)
        if key not in stored:
            replace(self.path / name, json_file.to_text({**stored, key: facts}))
        return key

    def repair(self) -> tuple[str, ...]:
        """Reduce the records to complete groups, so that a run can continue; return sentences on the others.

        Lines of incomplete groups move to records.damaged.jsonl, so that a group is never compared across
        two sessions.
        """
        whole, rest = self.split()
        path, repaired = self.path / RECORDS, _join_lines(whole)
        if not rest and (not path.exists() or path.stat().st_size == len(repaired)):
            return ()
        if rest:
            self._set_aside(DAMAGED, _join_lines(rest))
        replace(path, repaired)
        return tuple(
            f"{RECORDS}:{line.number}: {line.problem or 'its group is incomplete'}; "
            f"moved to {DAMAGED}, to be measured again"
            for line in rest
        )

    def withdraw(self, keys: Collection[tuple[str, int]]) -> None:
        """Move the records of these cases and replicates to records.withdrawn.jsonl, to measure them again.

        The keys must be those of whole groups, because incomplete groups cannot be compared.
        """
        remaining: list[Line] = []
        withdrawn: list[Line] = []
        for line in self._lines():
            matches = line.record is not None and line.record.key[:2] in keys
            (withdrawn if matches else remaining).append(line)
        if withdrawn:
            self._set_aside(WITHDRAWN, _join_lines(withdrawn))
            replace(self.path / RECORDS, _join_lines(remaining))

    def _set_aside(self, name: str, data: bytes) -> None:
        """Append to the file with this name, atomically."""
        file = self.path / name
        replace(file, (file.read_bytes() if file.exists() else b"") + data)


def _join_lines(lines: Iterable[Line]) -> bytes:
    return b"".join(line.data + b"\n" for line in lines)


FORM = "%Y%m%dT%H%M%SZ"
ID = re.compile(r"(\d{8}T\d{6}Z)-[0-9a-f]{7}")


def is_run_id(name: str) -> bool:
    return ID.fullmatch(name) is not None


def new_run_id(now: datetime, salt: str, present: Iterable[str] = ()) -> str:
    """An id like `20261120T113000Z-1a2b3c4`: the time, and a digest of time and salt for concurrent runs.

    If the clock was set back, the time is one second after the newest id in `present`, so that the newest run
    always has the latest id.
    """
    moment = max([now.astimezone(UTC), *(time for name in present if (time := _time_after(name)))])
    digest = hashlib.sha256(f"{moment.isoformat()}{salt}".encode()).hexdigest()
    return f"{moment:{FORM}}-{digest[:7]}"


def _time_after(name: str) -> datetime | None:
    """The second after an id's time; None for another name, and after the last representable time."""
    match = ID.fullmatch(name)
    try:
        return match and datetime.strptime(match[1], FORM).replace(tzinfo=UTC) + timedelta(seconds=1)
    except (ValueError, OverflowError):
        return None
