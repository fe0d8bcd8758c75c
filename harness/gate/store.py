"""Store of gates: `results/gates/<id>/` holds a header and a line per case and pair, written as it goes.

The newest folder answers `gate --last`, and `gate --resume` goes on where an interrupted one stopped.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from harness.core.errors import UsageError
from harness.core.plain_data import from_plain, plain_number
from harness.core.regular_file import read_regular
from harness.gate.outcome import GateOutcome
from harness.gate.stored_forms import HeaderForm, PairForm
from harness.store import json_file
from harness.store.atomic import refused, replace, write_all

HEADER = "gate.json"
PAIRS = "pairs.jsonl"
REMEDY = "remove its folder, and run the gate again"


class GateFolder:
    """One gate on disk. Raises MachineError when the machine does not let it write."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, results: Path, gate_id: str, header: Mapping[str, Any]) -> GateFolder:
        folder = cls(results / "gates" / gate_id)
        try:
            folder.path.mkdir(parents=True)
        except OSError as error:
            raise refused(folder.path, error) from None
        folder.write_header(header)
        return folder

    @property
    def header(self) -> dict[str, Any]:
        """UsageError when it is damaged."""
        return json_file.read_object(self.path / HEADER, REMEDY, HeaderForm)

    @property
    def outcome(self) -> GateOutcome | None:
        """What it said; None where it was interrupted. UsageError when that is damaged."""
        known = self.header.get("outcome")
        try:
            return GateOutcome.from_json(known) if known else None
        except ValueError as error:
            raise UsageError(f"{self.path / HEADER}: its outcome is damaged ({error}); {REMEDY}") from None

    def write_header(self, header: Mapping[str, Any]) -> None:
        replace(self.path / HEADER, json_file.to_text(header))

    def discard_empty(self) -> None:
        """Remove the folder of a gate that stored no pair."""
        if not (self.path / PAIRS).exists():
            shutil.rmtree(self.path, ignore_errors=True)

    def append(self, lines: Sequence[Mapping[str, Any]]) -> None:
        """The lines of one pair, in one flushed write; when it fails the file is as before."""
        path = self.path / PAIRS
        data = b"".join(msgspec.json.encode(line, enc_hook=plain_number) + b"\n" for line in lines)
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                size = os.fstat(descriptor).st_size
                torn = size and os.pread(descriptor, 1, size - 1) != b"\n"  # by a gate that was killed
                try:
                    write_all(descriptor, b"\n" + data if torn else data)
                except BaseException:  # also Ctrl-C between two partial writes
                    os.ftruncate(descriptor, size)
                    raise
            finally:
                os.close(descriptor)
        except OSError as error:
            raise refused(path, error) from None

    def pairs(self) -> list[dict[str, Any]]:
        """All whole lines. A torn one is a pair that did not end: it is measured again."""
        path = self.path / PAIRS
        pairs: list[dict[str, Any]] = []
        for line in read_regular(path).splitlines() if path.exists() else ():
            with suppress(ValueError, RecursionError):  # msgspec's errors are ValueErrors
                pair = msgspec.json.decode(line)
                from_plain(PairForm, pair)
                pairs.append(pair)
        return pairs


def gates(results: Path) -> list[GateFolder]:
    """All gates that are kept under `results`, oldest first: their ids sort by time."""
    return [GateFolder(path.parent) for path in sorted((results / "gates").glob(f"*/{HEADER}"))]


def newest(results: Path, request: str | None = None) -> GateFolder:
    """The newest gate, or the newest unfinished one of a request. UsageError when there is none."""
    folder = results / "gates"
    for gate in reversed(gates(results)):
        header = gate.header if request else {}
        if request is None or (header.get("request") == request and header.get("outcome") is None):
            return gate
    if request is None:
        raise UsageError(f"no gate is kept in {folder}; run one with: seqsweep gate")
    raise UsageError(
        f"no interrupted gate of these cases, sides and sources is kept in {folder}; leave --resume away"
    )
