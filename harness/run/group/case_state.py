"""The mutable state of one case while its group runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.catalog.catalog import ImplementationInfo
from harness.catalog.known_frameworks import traits_of
from harness.core.case import Case
from harness.core.plain_data import from_plain
from harness.core.record import Checked, ColdStart, Correctness, Cost, GpuReading, GraphReplays, Profile
from harness.core.static_figures import Static
from harness.core.units import format_bytes
from harness.run.group.forged_clock import Turn
from harness.run.group.memoization import FirstAndAgain
from harness.run.group.predict import KnownWork
from harness.run.group.stopping import LONG_CALL_SECONDS
from harness.run.processes.executor import Worker
from harness.run.processes.exit_cause import MORE_MEMORY

NEAR_LIMIT = 0.85  # of the limit: an allocator and a framework take room beside what is planned
NOT_COMPILED = "the case ended before it was compiled"
NOT_REACHED = "the run was interrupted before its first sample; go on with run --resume"


@dataclass
class CaseState:
    case: Case
    info: ImplementationInfo
    baseline: bool
    started: str
    side: str | None = None
    within: str | None = None  # the folder that its module must lie in
    worker: Worker | None = None
    status: str | None = None
    reason: str | None = None
    crash_file: str = ""  # in the run's folder
    compiled: bool = False
    static: Static = field(default_factory=lambda: Static.none(NOT_COMPILED))
    cost: Cost = field(default_factory=Cost)
    expected: bool = False
    expectation: str | None = None
    input_bytes: int = 0
    sets: int = 1  # of inputs that its process holds
    call_s: float = 0.0
    inner: int = 1
    correctness: Correctness | None = None
    checks: tuple[Checked, ...] = ()
    facts: Mapping[str, float | int | str | None] = field(default_factory=dict)
    high_water_bytes: int | None = None
    recompiled: int = 0  # compilations in calls after the first
    method: str = "wall"
    cache: str = "rotated"
    readings: list[tuple[int, float]] = field(default_factory=list[tuple[int, float]])  # (round, seconds)
    turns: list[Turn] = field(default_factory=list[Turn])
    first_and_again: list[FirstAndAgain] = field(default_factory=list[FirstAndAgain])
    stopped: str = "budget"
    warnings: list[str] = field(default_factory=list[str])
    gpu_readings: list[GpuReading] = field(default_factory=list[GpuReading])  # while it was sampled
    profile: Profile | None = None
    cold: ColdStart | None = None
    graphs: GraphReplays | None = None
    wall_s: float = 0.0

    @property
    def id(self) -> str:
        return self.case.id

    @property
    def samples(self) -> list[float]:
        """Its readings in seconds per call, in the order they were taken."""
        return [seconds for _, seconds in self.readings]

    @property
    def is_long(self) -> bool:
        """Whether one call takes so long that every one of them counts."""
        return self.call_s > LONG_CALL_SECONDS

    @property
    def is_interpreted(self) -> bool:
        """Whether its calls are an interpreter's here, so that they can be judged and not timed."""
        return self.case.device in traits_of(self.info.framework).interpreted_on

    @property
    def living(self) -> bool:
        return self.status is None

    def settle(self, status: str, reason: str | None = None) -> None:
        """The case is decided; its process ends."""
        if self.status is None:
            self.reason, self.status = reason, status
        self.end()

    def end(self) -> None:
        """End its process, if it has one."""
        if self.worker is not None:
            self.worker.close()
            self.worker = None

    def cut_short(self) -> None:
        """Settle an interrupted case (Ctrl-C): its samples so far count."""
        if self.readings:
            self.stopped = "interrupted"
            self.warnings.append("stopped before an answer under the clock was judged")
            self.settle("ok")
        else:
            self.settle("skipped", NOT_REACHED)

    def take_prepared(self, answer: Mapping[str, Any], limit_bytes: int) -> None:
        """Keep the figures of a compiled case; `fits` compares its plan, or its inputs, with the limit."""
        self.compiled = True
        static = from_plain(Static, answer["static"])
        self.cost, self.facts = Cost(**answer["cost"]), answer["facts"]
        self.expected, self.expectation = answer["expected"], answer["expectation"]
        self.input_bytes = answer["input_bytes"]
        fits = within_limit(static, self.input_bytes, limit_bytes)
        self.static = dataclasses.replace(static, fits=fits)

    def too_large(self, limit_bytes: int) -> str | None:
        """Why the case cannot run within the limit, by its figures; None if it may."""
        if self.static.fits is not False:
            return None
        return why_too_large(self.static, self.input_bytes, limit_bytes, self.info.framework)

    def needs_bytes(self, sets: int) -> int:
        """Memory for its plan and the further sets of inputs; inputs alone where nothing is planned.

        In a backward mode each further set also costs its residuals, which are the plan's arguments.
        """
        further = max(self.input_bytes, self.static.argument_bytes or 0)
        return (self.static.planned_bytes or self.input_bytes) + (sets - 1) * further

    def is_near(self, limit_bytes: int, sets: int) -> bool:
        """Whether its plan and so many sets of inputs leave little room below the limit."""
        return self.needs_bytes(sets) > NEAR_LIMIT * limit_bytes

    def why_died(self, died_of: str, limit_bytes: int) -> str | None:
        """Why its process died, where what it needs is near the limit; None where that explains nothing.

        An allocation that fails late ends a process by whatever its library does then: a signal, an exit
        code, no word of memory.
        """
        if not self.is_near(limit_bytes, self.sets):
            return None
        needs = _needs(self.static, self.input_bytes, self.info.framework)
        further = self.needs_bytes(self.sets) - self.needs_bytes(1)
        more = f" and {format_bytes(further)} of further inputs" if further else ""
        near = f"{needs}{more}, near the limit of {format_bytes(limit_bytes)}"
        return f"{near}, and it died ({died_of}): {MORE_MEMORY}"

    @property
    def work(self) -> KnownWork:
        return KnownWork.of(self.static, self.cost)


def within_limit(static: Static, input_bytes: int, limit_bytes: int) -> bool | None:
    """Whether a case's plan fits the limit, or its inputs where nothing is planned; None: not known."""
    if static.planned_bytes is not None:
        return static.planned_bytes <= limit_bytes
    return False if input_bytes > limit_bytes else None


def why_too_large(static: Static, input_bytes: int, limit_bytes: int, framework: str) -> str:
    """The sentence for a case that is not within the limit."""
    needs = _needs(static, input_bytes, framework)
    return f"{needs}; the limit is {format_bytes(limit_bytes)}: {MORE_MEMORY}"


def _needs(static: Static, input_bytes: int, framework: str) -> str:
    """`the compiler plans 900 MiB`, or what its inputs take where nothing is planned."""
    if static.planned_bytes is None:
        return f"its inputs alone take {format_bytes(input_bytes)}"
    return f"the {traits_of(framework).planner} plans {format_bytes(static.planned_bytes)}"
