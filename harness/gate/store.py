"""Store of gates: `results/gates/<id>/` holds a header and a line per case and pair, appended pair by pair.

`gate --last` reads the newest folder; `gate --resume` continues an interrupted one.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

import msgspec

from harness.core.errors import UsageError
from harness.core.plain_data import from_plain, plain_number
from harness.core.regular_file import read_regular
from harness.gate.case_evidence import CaseEvidence, Rounds
from harness.gate.outcome import GateOutcome
from harness.store import json_file
from harness.store.atomic import replace, write_error
from harness.store.jsonl import seal, unseal
from harness.store.run_lock import run_lock

HEADER = "gate.json"
PAIRS = "pairs.jsonl"
REMEDY = "remove its folder, and run the gate again"


@dataclass(frozen=True)
class GateHeader:
    """gate.json. Gates with the same `request` may pool their pairs; `sources` are hashes by name.

    An interrupted gate has `outcome` None and no `evidence`.
    """

    command: tuple[str, ...] = ()
    started: str | None = None
    request: str | None = None
    sources: Mapping[str, str] | None = None
    outcome: GateOutcome | None = None
    evidence: Mapping[str, CaseEvidence] = field(default_factory=dict[str, CaseEvidence])
    schema: int = 1


class GateFolder:
    """One gate on disk. Raises MachineError when the machine does not let it write."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, results: Path, gate_id: str, header: GateHeader) -> GateFolder:
        folder = cls(results / "gates" / gate_id)
        try:
            folder.path.mkdir(parents=True)
        except OSError as error:
            raise write_error(folder.path, error) from None
        folder.write_header(header)
        return folder

    @property
    def header(self) -> GateHeader:
        """UsageError when it is damaged."""
        return from_plain(GateHeader, json_file.read_object(self.path / HEADER, REMEDY, GateHeader))

    def write_header(self, header: GateHeader) -> None:
        outcome = header.outcome.to_json() if header.outcome else None
        replace(self.path / HEADER, json_file.to_text({**asdict(header), "outcome": outcome}))

    def writing(self, tell: Callable[[str], None]) -> AbstractContextManager[None]:
        """Hold the folder's lock as its only writer. MachineError names the process that holds it."""
        return run_lock(self.path, "seqsweep gate", tell, "gate")

    def discard_empty(self) -> None:
        """Remove the folder of a gate that stored no pair."""
        if not (self.path / PAIRS).exists():
            shutil.rmtree(self.path, ignore_errors=True)

    def append(self, rounds: Sequence[Rounds]) -> None:
        """Add the rounds of one pair, a line per case; if that fails, the file is as before."""
        path = self.path / PAIRS
        before = read_regular(path) if path.exists() else b""
        lines = [{**asdict(each), "effect": each.effect} for each in rounds]
        data = b"".join(
            seal(msgspec.json.decode(msgspec.json.encode(line, enc_hook=plain_number))) for line in lines
        )
        if data:
            replace(path, before + data)

    def rounds(self) -> list[Rounds]:
        """The rounds of all pairs. A damaged line is skipped: its case is measured again."""
        path = self.path / PAIRS
        rounds: list[Rounds] = []
        for line in read_regular(path).splitlines() if path.exists() else ():
            with suppress(ValueError, RecursionError):  # msgspec's errors are ValueErrors
                data = msgspec.json.decode(line)
                sealed = isinstance(data, dict) and "crc32" in data  # earlier versions wrote none
                rounds.append(from_plain(Rounds, unseal(line) if sealed else data))
        return rounds


def gates(results: Path) -> list[GateFolder]:
    """All gates that are kept under `results`, oldest first: their ids sort by time."""
    return [GateFolder(path.parent) for path in sorted((results / "gates").glob(f"*/{HEADER}"))]


def newest(results: Path, request: str | None = None) -> GateFolder:
    """The newest gate, or the newest unfinished one of a request. UsageError when there is none."""
    folder = results / "gates"
    for gate in reversed(gates(results)):
        header = gate.header if request else None
        if header is None or (header.request == request and header.outcome is None):
            return gate
    if request is None:
        raise UsageError(f"no gate is kept in {folder}; run one with: seqsweep gate")
    raise UsageError(
        f"no interrupted gate of these cases, sides and sources is kept in {folder}; leave --resume away"
    )
