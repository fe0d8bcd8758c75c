"""Store of gates: `results/gates/<id>/gate.json` has the outcome of a timed gate and its evidence."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
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
class StoredGate:
    """gate.json; `sources` are hashes by name."""

    command: tuple[str, ...]
    started: str
    sources: Mapping[str, str]
    outcome: GateOutcome
    evidence: Mapping[str, CaseEvidence]
    schema: int = 1


def new_folder(results: Path, gate_id: str) -> Path:
    """The folder of a new gate. MachineError where none can be made, before anything is measured."""
    folder = results / "gates" / gate_id
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise write_error(folder, error) from None
    return folder


def write(folder: Path, gate: StoredGate) -> None:
    replace(folder / HEADER, json_file.to_text({**asdict(gate), "outcome": gate.outcome.to_json()}))


def newest(results: Path) -> StoredGate:
    """The newest gate that has ended: ids sort by time. UsageError when there is none, or it is damaged."""
    path = max((results / "gates").glob(f"*/{HEADER}"), default=None)
    if path is None:
        raise UsageError(f"no gate is kept in {results / 'gates'}; run one with: seqsweep gate")
    return from_plain(StoredGate, json_file.read_object(path, REMEDY, StoredGate))
