"""Store of gates: `results/gates/<id>/gate.json` has the outcome of a timed gate and its evidence."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from harness.core.errors import UsageError
from harness.core.plain_data import from_plain
from harness.gate.outcome import GateOutcome
from harness.gate.timed.decision import CaseEvidence
from harness.store import json_file
from harness.store.atomic import replace, write_error

HEADER = "gate.json"
REMEDY = "remove its folder, and run the gate again"


@dataclass(frozen=True)
class GateHeader:
    """gate.json; `sources` are hashes by name. A gate that has not ended has `outcome` None."""

    command: tuple[str, ...] = ()
    started: str | None = None
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

    def discard(self) -> None:
        """Remove the folder of a gate that decided nothing."""
        shutil.rmtree(self.path, ignore_errors=True)


def gates(results: Path) -> list[GateFolder]:
    """All gates that are kept under `results`, oldest first: their ids sort by time."""
    return [GateFolder(path.parent) for path in sorted((results / "gates").glob(f"*/{HEADER}"))]


def newest(results: Path) -> tuple[GateOutcome, Mapping[str, CaseEvidence]]:
    """The outcome and the evidence of the newest gate that has ended. UsageError when there is none."""
    for gate in reversed(gates(results)):
        header = gate.header
        if header.outcome is not None:
            return header.outcome, header.evidence
    raise UsageError(f"no gate is kept in {results / 'gates'}; run one with: seqsweep gate")
