"""The inbox of a sweep on other machines: what they sent, on the driver's disk before it is joined."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness.collection.collection import run_digest, write_run
from harness.collection.piece import read_pieces
from harness.core.errors import MachineError, UsageError
from harness.machines.measured_unit import MeasuredUnit
from harness.store import json_file
from harness.store.atomic import write_error, write_files
from harness.store.find import runs_in
from harness.store.run_id import is_run_id, new_run_id
from harness.store.run_lock import run_lock

FILE = "sweep.json"
ARRIVING = "arriving"  # what is being written
DOUBTFUL = "doubtful"  # measured while a node's noise moved: kept beside, joined with nothing


@dataclass(frozen=True)
class Inbox:
    """The folder results/machines/SESSION, which holds runs as a folder of results does."""

    path: Path

    @property
    def session(self) -> str:
        return self.path.name

    @classmethod
    def create(cls, results: Path, facts: dict[str, Any]) -> Inbox:
        """A new inbox; `facts` tell its sweep from others."""
        parent, now = results / "machines", datetime.now(UTC)
        present = [path.name for path in parent.iterdir()] if parent.is_dir() else []
        inbox = cls(parent / new_run_id(now, str(facts), present))
        write_files(inbox.path, {FILE: json_file.to_text(facts)})
        return inbox

    @classmethod
    def newest(cls, results: Path, facts: dict[str, Any]) -> Inbox:
        """The newest one of the same sweep. UsageError where there is none."""
        for path in sorted((results / "machines").glob(f"*/{FILE}"), reverse=True):
            try:
                if json_file.read(path) == facts:
                    return cls(path.parent)
            except (OSError, ValueError) as error:
                raise MachineError(f"{path}: cannot be read ({error}); remove its folder") from None
        raise UsageError(
            "--resume: this sweep was not begun on these machines, or its cases, settings or sources have "
            "changed; start a new one without --resume"
        )

    @contextmanager
    def writing(self, command: Sequence[str]) -> Generator[None]:
        """Be the only driver that fills it. MachineError names another one."""
        with run_lock(self.path, " ".join(command), lambda _: None):
            yield

    def take(self, measured: MeasuredUnit) -> None:
        """Store a unit, the same however often it comes; apart from the others where it is doubtful."""
        if not is_run_id(measured.run):
            raise MachineError(f'a node sent a run of the name "{measured.run}", which is no run\'s id')
        home = self.path / DOUBTFUL if measured.doubt else self.path
        place = home / "runs" / measured.run
        if place.exists():
            return
        arriving = self.path / ARRIVING / measured.run
        write_run(arriving, measured.files)
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            arriving.rename(place)  # whole or not at all, also when Ctrl-C comes now
        except OSError as error:
            raise write_error(place, error) from None

    def digests(self) -> dict[str, str]:
        """Every run that arrived, doubtful ones too, with the hash of its files as they lie here."""
        arrived = [*runs_in(self.path / "runs"), *runs_in(self.path / DOUBTFUL / "runs")]
        return {folder.id: run_digest(folder.path) for folder in arrived}

    def runs(self) -> dict[str, int]:
        """The runs that are whole, with the unit of each."""
        found: dict[str, int] = {}
        for folder in runs_in(self.path / "runs"):
            for piece in read_pieces(folder, []):
                if piece.info.get("finished") and not piece.missing:
                    found[piece.run] = piece.index
        return found
