"""Runs all cheats through `seqsweep run`, and compares each outcome with the data.

The temporary folder is also the runs' TMPDIR, because cheats may write files.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from harness.core.record import Record
from harness.store.runs import RunFolder
from tests.honesty.catalogue import BENCH, Cheat, cheats, suites

ROOT = Path(__file__).resolve().parents[2]
LONGEST_S = 600
GAIN = 10  # a cheat gains if it is this many times as fast as the honest implementation
SLOWEST_S = 1.0  # honest implementations are faster
INCORRECT = 4  # the exit code of a run with incorrect cases


@dataclass(frozen=True)
class Ended:
    """The records of a run of all cheats."""

    records: tuple[Record, ...]

    def of(self, name: str) -> Record | None:
        return next((record for record in self.records if record.implementation.endswith(f"/{name}")), None)

    def neighbours(self, record: Record, names: frozenset[str]) -> list[Record]:
        """The records of the same group without those in `names`."""
        group = [other for other in self.records if other.workload == record.workload]
        return [other for other in group if other.implementation.rpartition("/")[2] not in names]


def run_all(folder: Path, command: str = "run", bench: Path = BENCH) -> Ended:
    """Run or check every suite of the drill once. RuntimeError if that fails."""
    results, own = folder / "results", folder / "tmp"
    own.mkdir(parents=True)
    arguments = [sys.executable, str(ROOT / "cli.py"), command, "--config", str(bench), "--quick"]
    environment = {**os.environ, "TMPDIR": str(own)}
    if command == "run":
        environment.pop("XLA_FLAGS", None)  # compile timed code with default flags
    ended = subprocess.run(
        [*arguments, "--results", str(results)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
        check=False,
    )
    if ended.returncode != INCORRECT:
        raise RuntimeError(f"the run ended with {ended.returncode}: {ended.stderr[-2000:]}")
    (stored,) = (results / "runs").iterdir()
    return Ended(RunFolder(stored).read().records)


def difference(cheat: Cheat, ended: Ended) -> str:
    """How a cheat's outcome differs from its data; "" if it does not."""
    record = ended.of(cheat.name)
    if record is None:
        return "it was not run; it may end the run"
    warnings = record.timing.warnings if record.timing else ()
    texts = {"caught": [record.reason or ""], "warned": [*warnings, record.bound]}.get(cheat.outcome, [""])
    if record.status != cheat.status:
        return f"{record.status} instead of {cheat.status}: {record.reason}"
    if not any(cheat.says in text for text in texts):
        return f"{cheat.says!r} is not in {texts}"
    if cheat.outcome == "harmless" and (gain := _gain(record, ended.of(cheat.compared_with))) > GAIN:
        return f"it is {gain:.0f} times as fast as {cheat.compared_with}"
    return _harm(record, ended) if cheat.neighbour_ok else ""


def _gain(record: Record, honest: Record | None) -> float:
    if honest is None or honest.timing is None or record.timing is None:
        raise RuntimeError(f"{record.implementation} or its honest implementation has no time")
    return honest.timing.median_s / record.timing.median_s


def _harm(record: Record, ended: Ended) -> str:
    """Its effect on the honest implementation of its group."""
    for other in ended.neighbours(record, names()):
        if other.status != "ok" or (other.timing and other.timing.median_s > SLOWEST_S):
            why = other.reason or "its time is too long"
            return f"{other.implementation} in its group: {other.status}, {why}"
    return ""


def names() -> frozenset[str]:
    return frozenset(cheat.name for cheat in cheats())


def failed_honest(ended: Ended) -> list[str]:
    """Honest implementations that are not ok."""
    honest = [r for r in ended.records if r.implementation.rpartition("/")[2] not in names()]
    return [f"{r.case}: {r.status}, {r.reason}" for r in honest if r.status != "ok"]


def run_cheats() -> tuple[Cheat, ...]:
    """The cheats in the default suites of bench.yaml, which the drill runs."""
    listed = {name for impls in suites().values() for name in impls}
    return tuple(cheat for cheat in cheats() if cheat.name in listed)
