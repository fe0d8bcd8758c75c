"""A run of all cheats through `seqsweep run`, and in what each ended otherwise than the data say.

It takes place in a temporary folder, which is also the runs' TMPDIR: what cheats do to files they do there.
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
GAIN = 10  # a cheat gains where it is so many times as fast as the honest way to do the same
SLOWEST_S = 1.0  # nothing honest takes as long here
INCORRECT = 4  # the exit code of a run with wrong answers


@dataclass(frozen=True)
class Ended:
    """A run of all cheats: its records by implementation."""

    records: tuple[Record, ...]

    def of(self, name: str) -> Record | None:
        return next((record for record in self.records if record.implementation.endswith(f"/{name}")), None)

    def beside(self, record: Record, names: frozenset[str]) -> list[Record]:
        """The records of the same group that are none of `names`."""
        group = [other for other in self.records if other.workload == record.workload]
        return [other for other in group if other.implementation.rpartition("/")[2] not in names]


def run_all(folder: Path, command: str = "run", bench: Path = BENCH) -> Ended:
    """Run or check every suite of the drill once. RuntimeError where that did not come to its end."""
    results, own = folder / "results", folder / "tmp"
    own.mkdir(parents=True)
    arguments = [sys.executable, str(ROOT / "cli.py"), command, "--config", str(bench), "--quick"]
    environment = {**os.environ, "TMPDIR": str(own)}
    if command == "run":
        environment.pop("XLA_FLAGS", None)  # what is timed is compiled as users have it
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


def shortfall(cheat: Cheat, ended: Ended) -> str:
    """In what a cheat ended otherwise than its data say; "" where it is as they say."""
    record = ended.of(cheat.name)
    if record is None:
        return "it was not run: it ends the run"
    warnings = record.timing.warnings if record.timing else ()
    texts = {"caught": [record.reason or ""], "told": [*warnings, record.bound]}.get(cheat.outcome, [""])
    if record.status != cheat.status:
        return f"{record.status} instead of {cheat.status}: {record.reason}"
    if not any(cheat.says in text for text in texts):
        return f"nowhere does it say {cheat.says!r}: {texts}"
    if cheat.outcome == "harmless" and (gain := _gain(record, ended.of(cheat.like))) > GAIN:
        return f"it is {gain:.0f} times as fast as {cheat.like}"
    return _harm(record, ended) if cheat.spares else ""


def _gain(record: Record, honest: Record | None) -> float:
    if honest is None or honest.timing is None or record.timing is None:
        raise RuntimeError(f"{record.implementation} or what it is compared with has no time")
    return honest.timing.median_s / record.timing.median_s


def _harm(record: Record, ended: Ended) -> str:
    """What it did to the honest one beside it."""
    for rival in ended.beside(record, names()):
        if rival.status != "ok" or (rival.timing and rival.timing.median_s > SLOWEST_S):
            why = rival.reason or "a time that is not its own"
            return f"{rival.implementation} beside it: {rival.status}, {why}"
    return ""


def names() -> frozenset[str]:
    return frozenset(cheat.name for cheat in cheats())


def unwell(ended: Ended) -> list[str]:
    """Honest implementations that are not ok."""
    honest = [r for r in ended.records if r.implementation.rpartition("/")[2] not in names()]
    return [f"{r.case}: {r.status}, {r.reason}" for r in honest if r.status != "ok"]


def run_cheats() -> tuple[Cheat, ...]:
    """The cheats that the drill runs: those of the suites that bench.yaml has as its default."""
    listed = {name for impls in suites().values() for name in impls}
    return tuple(cheat for cheat in cheats() if cheat.name in listed)
