"""The context that all groups of a run share."""

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.catalog.catalog import Catalog
from harness.core.case import Case
from harness.run.case.predict import CallPredictor
from harness.run.case.source_files import SourceFiles
from harness.run.events import Listener
from harness.run.machine.device_memory import DeviceMemory
from harness.run.processes.executor import Executor

Clock = Callable[[], float]

KeepCrash = Callable[[Case, int, str], str]
Checks = Collection[str] | Mapping[str, Collection[str]] | None


@dataclass(frozen=True)
class Provenance:
    """The fields that all records of a run share."""

    run: str
    fingerprint: str
    environment: str
    seed: int


@dataclass(frozen=True)
class ProfileExtras:
    """Optional measurements of a profile or run, in addition to stages and times."""

    operators: bool = False  # the slowest operators
    trace: Path | None = None  # the file for a trace of one call
    graphs: bool = False  # time replays of CUDA graphs instead of calls

    @property
    def names(self) -> list[str]:
        """The flags that the evidence of a case depends on."""
        flags = {"--ops": self.operators, "--graphs": self.graphs}
        return [flag for flag, given in flags.items() if given]


STAGES_ONLY = ProfileExtras()


@dataclass
class RunContext:
    """The context of a run. `depth` is the last stage: `check` (verified), `run` (also sampled) or `profile`.

    `checks` are the ids of the checks to run, for all cases or by case id; None means all checks.
    `keep_crash(case, replicate, output)` writes a crash's output into the run's folder and returns its path
    there; None without this folder. `spent` are seconds by activity.
    """

    executor: Executor
    catalog: Catalog
    provenance: Provenance
    listener: Listener
    folder: Path
    depth: str = "run"
    checks: Checks = ()
    clock: Clock = time.monotonic
    predictor: CallPredictor = field(default_factory=CallPredictor)
    spent: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    counting: threading.Lock = field(default_factory=threading.Lock)
    interpreted_below: dict[str, int] = field(default_factory=dict[str, int])  # series → length timed out
    keep_crash: KeepCrash | None = None
    extras: ProfileExtras = STAGES_ONLY
    device_memory: Mapping[str, DeviceMemory] = field(default_factory=dict[str, DeviceMemory])  # by device
    sources: SourceFiles | None = None  # None in a gate, which has hashed both sides' sources

    def count_seconds(self, activity: str, seconds: float) -> None:
        """Add seconds to those spent on an activity. Thread-safe."""
        with self.counting:
            self.spent[activity] += seconds

    def checks_of(self, case: str) -> list[str] | None:
        """The checks to run on a case; None: all checks of its family."""
        wanted = self.checks.get(case, ()) if isinstance(self.checks, Mapping) else self.checks
        return None if wanted is None else sorted(wanted)
