"""The context that all groups of a run share."""

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.catalog.catalog import Catalog
from harness.core.case import Case
from harness.core.protocol import Job
from harness.run.case.predict import Prediction
from harness.run.case.source_files import SourceFiles
from harness.run.events import Listener
from harness.run.processes.cold_process import ColdReading, start_cold
from harness.run.processes.executor import Executor

Clock = Callable[[], float]


StartCold = Callable[[Job, float, int, str | None], ColdReading]
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
    """What a run measures beside times, and a profile beside its stages."""

    operators: bool = False  # those that take longest
    trace: Path | None = None  # the file for a trace of one call
    cold: bool = False  # what the first calls of new processes cost
    graphs: bool = False  # what replays of CUDA graphs save

    @property
    def names(self) -> list[str]:
        """The flags that the evidence of a case depends on."""
        flags = {"--ops": self.operators, "--cold": self.cold, "--graphs": self.graphs}
        return [flag for flag, given in flags.items() if given]


STAGES_ALONE = ProfileExtras()


@dataclass
class RunContext:
    """`depth` is how far each case goes: `check` (judged), `run` (also measured) or `profile` (by stage).

    `checks` are the ids of the checks to run at depth `check`, for all cases or by case id; None stands for
    all checks. `keep_crash` writes the output of a case's crash in a replicate into the run's folder, and
    returns its path there; None where there is no such folder. `spent` are seconds by activity and
    `startups_s` seconds from fork to building, per case.
    """

    executor: Executor
    catalog: Catalog
    provenance: Provenance
    listener: Listener
    folder: Path
    depth: str = "run"
    checks: Checks = ()
    clock: Clock = time.monotonic
    prediction: Prediction = field(default_factory=Prediction)
    spent: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    interpreted_below: dict[str, int] = field(default_factory=dict[str, int])  # lengths, by a case's series
    startups_s: list[float] = field(default_factory=list[float])
    keep_crash: KeepCrash | None = None
    extras: ProfileExtras = STAGES_ALONE
    start_cold: StartCold = start_cold
    sources: SourceFiles | None = None  # None where the sides of a gate are fixed by their commits

    def checks_of(self, case: str) -> list[str] | None:
        """The checks to run on a case; None: all of its family's."""
        wanted = self.checks.get(case, ()) if isinstance(self.checks, Mapping) else self.checks
        return None if wanted is None else sorted(wanted)

    def changed_source(self, implementation: str) -> str | None:
        """Why a process that starts now would run another source than a record names, if it would."""
        return None if self.sources is None else self.sources.changed(implementation)
