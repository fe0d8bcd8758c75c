"""Reading a stored run: run.json, the readable records, and the files that these refer to.

Damaged data is reported in a sentence, and reading continues.
"""

import gc
import gzip
import hashlib
import os
import zlib
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.core.errors import MachineError, UsageError
from harness.core.fingerprint_identity import hashed_facts
from harness.core.record import Record
from harness.core.regular_file import open_descriptor, open_regular, read_regular
from harness.store import json_file
from harness.store.jsonl import Line, lines, split_whole
from harness.store.run_forms import SCHEMA, EnvironmentForm, FactsForm, RunForm

INFO = "run.json"
RECORDS = "records.jsonl"
GZIPPED = "records.jsonl.gz"  # read if a user has compressed the records of a finished run
FINGERPRINTS = "fingerprints.json"
ENVIRONMENTS = "environments.json"
CRASHES = "crashes"
RESTORE = "restore it, or name another run"
LONGEST_LOG = 20_000  # bytes of a crash's file that are shown
NOTES = "notes.md"  # known errors of the data, written by users
BUFFER_BYTES = 1 << 20  # for reading: the default has room for only two lines

RecordKey = tuple[str, int, str | None]


def line_hash(line: bytes) -> str:
    """The SHA-256 of a record's stored line without the newline; documents cite the record by it."""
    return hashlib.sha256(line).hexdigest()


def fingerprint_id(facts: Mapping[str, Any]) -> str:
    """The `sha256:…` of a machine's facts, by which records refer to it."""
    return json_file.digest(hashed_facts(facts))


@dataclass(frozen=True)
class Stored:
    """The contents of a run's folder. `problems` are sentences about data that could not be read."""

    info: Mapping[str, Any]
    records: tuple[Record, ...]
    problems: tuple[str, ...]


def is_run(path: Path) -> bool:
    """Whether a folder has a run; False if the folder is not accessible."""
    return any(os.path.isfile(path / name) for name in (INFO, RECORDS))  # noqa: PTH113 - it never raises


@contextmanager
def without_collector() -> Generator[None]:
    """Pause the garbage collector while records are read, and exclude them from later collections.

    Records have no cycles, and walking millions of objects repeatedly takes a third of the time.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.freeze()
            gc.enable()


class StoredRun:
    """One run on disk, for readers, which need no lock and never wait."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def id(self) -> str:
        return self.path.name

    @property
    def results(self) -> Path:
        """The results folder that contains runs/ with this run."""
        return self.path.parents[1]

    @property
    def info(self) -> dict[str, Any]:
        """The content of run.json. UsageError if it is missing, damaged, or of a later version."""
        path = self.path / INFO
        info = json_file.read_object(path, RESTORE, RunForm)
        if info.get("schema", SCHEMA) != SCHEMA:
            raise UsageError(
                f"{path}: schema {info['schema']} is not {SCHEMA}; use the seqsweep that wrote it"
            )
        return info

    def fingerprints(self) -> dict[str, Any]:
        """All fingerprints of the run, by their hash."""
        return self._read_object(FINGERPRINTS, dict[str, FactsForm])

    def environments(self) -> dict[str, Any]:
        """All environments of the run, by their hash."""
        return self._read_object(ENVIRONMENTS, dict[str, EnvironmentForm])

    def notes(self) -> str:
        """The text of the run's notes.md: known errors of its data. Empty without this file."""
        path = self.path / NOTES
        try:
            return read_regular(path).decode(errors="replace").strip() if path.exists() else ""
        except OSError as error:
            raise MachineError(f"{path}: cannot be read ({error.strerror}); fix or remove it") from None

    def _read_object(self, name: str, form: Any = dict[str, Any]) -> dict[str, Any]:
        path = self.path / name
        return json_file.read_object(path, RESTORE, form) if path.exists() else {}

    def read(self) -> Stored:
        """All readable records. A damaged or duplicate line is reported as a problem."""
        problems: list[str] = []
        with without_collector():
            info, records = self.readable_info(problems), tuple(self.records(problems))
        return Stored(info, records, tuple(problems))

    def readable_info(self, problems: list[str]) -> dict[str, Any]:
        """The content of run.json; empty if it cannot be read, which is added to `problems`."""
        try:
            info = self.info
        except UsageError as error:
            problems.append(str(error))
            return {}
        problems += info.get("problems") or ()  # reported by its writer
        return info

    def info_with_fingerprints(self, problems: list[str]) -> dict[str, Any]:
        """The content of run.json with the fingerprints; read errors are added to `problems`."""
        described = {**self.readable_info(problems), "fingerprints": {}}
        try:
            described["fingerprints"] = self.fingerprints()
        except UsageError as error:
            problems.append(str(error))
        return described

    def records(self, problems: list[str], hashes: dict[RecordKey, str] | None = None) -> Iterator[Record]:
        """Yield the readable records; read errors are added to `problems`.

        `hashes` is filled with the SHA-256 of each record's line, by the record's key.
        """
        seen: set[RecordKey] = set()
        for line in self._lines():
            number, data, record = line.number, line.data, line.record
            if record is None:
                problems.append(f"{RECORDS}:{number}: {line.problem}; run --resume measures its case again")
                continue
            key = record.key
            if key in seen:
                problems.append(f"{RECORDS}:{number}: {record.case} is stored twice; the first one is used")
            else:
                seen.add(key)
                if hashes is not None:
                    hashes[key] = line_hash(data)
                yield record

    def crash_log(self, name: str) -> str:
        """The end of a crash's file, by the name in a record; empty if it cannot be read.

        Only files in the crashes folder are read, because the name comes from a record.
        """
        try:
            descriptor = open_descriptor(self.path / CRASHES / Path(name).name, os.O_RDONLY | os.O_NOFOLLOW)
        except OSError:
            return ""
        with os.fdopen(descriptor, "rb") as file:
            file.seek(max(os.fstat(file.fileno()).st_size - LONGEST_LOG, 0))
            return file.read(LONGEST_LOG).decode(errors="replace")

    def record_of_hash(self, prefix: str) -> Record | None:
        """The first record with a line hash that starts with `prefix`; None without one."""
        matching = (line for line in self._lines() if line_hash(line.data).startswith(prefix))
        return next((line.record for line in matching if line.record is not None), None)

    def split(self) -> tuple[list[Line], list[Line]]:
        """(lines of complete appends, other lines), as in :func:`split_whole`."""
        return split_whole(self._lines())

    def _lines(self) -> Iterator[Line]:
        path = next((path for name in (RECORDS, GZIPPED) if (path := self.path / name).exists()), None)
        if path is None:
            return
        try:
            with open_regular(path, BUFFER_BYTES) as file:
                yield from lines(gzip.GzipFile(fileobj=file) if path.name == GZIPPED else file)
        except (OSError, EOFError, zlib.error) as error:
            why = getattr(error, "strerror", None) or error
            raise MachineError(f"{path}: cannot be read ({why}); name another run") from None
