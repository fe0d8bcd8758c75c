"""A run's folder as its writer sees it: records are only ever appended, a group at a time, by one process.

What a crash leaves of a group is still readable; `repair` sets it aside before a run goes on.
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

LOCK = "run.lock"  # a file of its own, because records.jsonl and run.json are replaced at times


@contextmanager
def run_lock(folder: Path, command: str, tell: Callable[[str], None]) -> Generator[None]:
    """Hold the lock for as long as the block; MachineError names who else holds it, and since when.

    Where the file system has no locks, `tell` is given a sentence, and the block runs without one.
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
            tell(f"{path} cannot be locked ({error.strerror}): start no second run --resume of it")
        if not taken:
            raise MachineError(
                f"run {folder.name} is being written by {lock.holder()}; wait for it, or end it"
            )
        yield


DAMAGED = "records.damaged.jsonl"
WITHDRAWN = "records.withdrawn.jsonl"


class RunFolder(StoredRun):
    """One run on disk. Raises MachineError when the machine does not let it write."""

    @classmethod
    def create(cls, results: Path, run_id: str, info: Mapping[str, Any]) -> RunFolder:
        """A new folder under `results`/runs, which is made if missing. Fails before anything has run."""
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
        """Add the records of one group in one flushed write; when it fails the file is as before.

        MachineError where the file ends in a torn line.
        """
        data, path = encode(records), self.path / RECORDS
        try:
            descriptor = open_descriptor(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                end = os.fstat(descriptor).st_size
                if end and os.pread(descriptor, 1, end - 1) != b"\n":
                    raise MachineError(
                        f"{path} ends in a torn line, or was cut; go on with run --resume, which mends it"
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
    def writing(self, command: str, tell: Callable[[str], None]) -> Generator[None]:
        """Be the only writer of this folder for as long as the block. MachineError names another one.

        Readers need no lock, and never wait. Where there are no locks, `tell` is given a sentence.
        """
        if not (self.path / RECORDS).exists() and (packed := self.path / GZIPPED).exists():
            raise MachineError(f"{packed} is only read; gunzip it, and run the command again")
        with run_lock(self.path, command, tell):
            try:
                yield
            finally:
                if not self.path.is_dir():
                    raise MachineError(
                        f"{self.path} was moved or removed while it was written; "
                        "move it back, and go on with run --resume"
                    ) from None

    def write_fingerprint(self, facts: Mapping[str, Any]) -> str:
        """Keep what must be equal for two timings to be compared; returns its `sha256:…`."""
        return self._keep(FINGERPRINTS, fingerprint_id(facts), facts)

    def write_environment(self, facts: Mapping[str, Any]) -> str:
        """Keep what need not be equal, such as time, load and commit; returns its `sha256:…`."""
        return self._keep(ENVIRONMENTS, json_file.digest(facts), facts)

    def write_crash(self, case: Case, replicate: int, text: str) -> str:
        """Keep what there is to read of a crash; returns the file's path in this folder."""
        digest = zlib.crc32(f"{case.id} {replicate}".encode())
        name = f"{file_name(case.implementation.replace('/', '-'))}-{case.seq}-{digest:08x}.txt"
        write_files(self.path / CRASHES, {name: text.encode(errors="replace")})
        return f"{CRASHES}/{name}"

    def _keep(self, name: str, key: str, facts: Mapping[str, Any]) -> str:
        kept = self._read_object(name)
        if key not in kept:
            replace(self.path / name, json_file.to_text({**kept, key: facts}))
        return key

    def repair(self) -> tuple[str, ...]:
        """Make the file one of complete groups, so that a run can go on; says what was set aside.

        Lines of incomplete groups move to records.damaged.jsonl: nothing is lost, and a group is
        never compared across two sessions.
        """
        whole, rest = self.split()
        path, mended = self.path / RECORDS, _join_lines(whole)
        if not rest and (not path.exists() or path.stat().st_size == len(mended)):
            return ()
        if rest:
            self._set_aside(DAMAGED, _join_lines(rest))
        replace(path, mended)
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
            self._set_aside(WITHDRAWN, _join_lines(out))
            replace(self.path / RECORDS, _join_lines(kept))

    def _set_aside(self, name: str, out: bytes) -> None:
        """Add to the file of this name, whole or not at all."""
        aside = self.path / name
        replace(aside, (aside.read_bytes() if aside.exists() else b"") + out)


def _join_lines(out: Iterable[Line]) -> bytes:
    return b"".join(line.data + b"\n" for line in out)


FORM = "%Y%m%dT%H%M%SZ"
ID = re.compile(r"(\d{8}T\d{6}Z)-[0-9a-f]{7}")


def is_run_id(name: str) -> bool:
    return ID.fullmatch(name) is not None


def new_run_id(now: datetime, salt: str, present: Iterable[str] = ()) -> str:
    """`20261120T113000Z-1a2b3c4`: the time, and a digest of it with the salt, for two that come at once.

    Where the clock was set back, the time is that of the newest id that is `present`, and a second: what
    was made last is the latest, whatever the clock says.
    """
    moment = max([now.astimezone(UTC), *(time for name in present if (time := _time_after(name)))])
    digest = hashlib.sha256(f"{moment.isoformat()}{salt}".encode()).hexdigest()
    return f"{moment:{FORM}}-{digest[:7]}"


def _time_after(name: str) -> datetime | None:
    """The second after an id's time; None for another name, and where no time follows."""
    match = ID.fullmatch(name)
    try:
        return match and datetime.strptime(match[1], FORM).replace(tzinfo=UTC) + timedelta(seconds=1)
    except (ValueError, OverflowError):
        return None
