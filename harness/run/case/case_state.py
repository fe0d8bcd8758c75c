"""The state of one case while its group runs: the result of each stage, and whether the case is settled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from harness.catalog.catalog import ImplementationInfo
from harness.catalog.known_frameworks import traits_of
from harness.core.case import Case
from harness.core.plain_data import from_plain
from harness.core.record import Checked, Correctness, Cost, Profile
from harness.core.remedy import BY_STATUS
from harness.core.static_figures import Static
from harness.core.units import format_bytes
from harness.run.case.samples import NOT_CALLED, ONE_BY_ONE, KnownCall, Samples, SamplingSetup
from harness.run.processes.executor import Worker
from harness.run.processes.output_log import MORE_MEMORY

NEAR_LIMIT = 0.85  # of the limit: allocators and frameworks use memory that is not in the plan
NOT_COMPILED = "the case ended before it was compiled"


@dataclass(frozen=True)
class CompiledPlan:
    """What compiling found. `expected`: the case is marked as incorrect, for the reason `expectation`."""

    framework: str
    static: Static
    input_bytes: int = 0
    cost: Cost = field(default_factory=Cost)
    facts: Mapping[str, float | int | str | None] = field(default_factory=dict)
    expected: bool = False
    expectation: str | None = None

    @classmethod
    def of(cls, answer: Mapping[str, Any], framework: str, limit_bytes: int) -> CompiledPlan:
        """The plan in a worker's answer, with whether it fits the limit."""
        plan = from_plain(cls, {**answer, "framework": framework})
        return replace(plan, static=replace(plan.static, fits=plan.fits(limit_bytes)))

    def fits(self, limit_bytes: int) -> bool | None:
        """Whether the plan fits; without a plan, False if the inputs do not fit, else None (unknown)."""
        if self.static.planned_bytes is not None:
            return self.static.planned_bytes <= limit_bytes
        return False if self.input_bytes > limit_bytes else None

    def too_large(self, limit_bytes: int) -> str | None:
        """Why the case cannot run within the limit; None if it may."""
        if self.fits(limit_bytes) is not False:
            return None
        return f"{self._needs()}; the limit is {format_bytes(limit_bytes)}: {MORE_MEMORY}"

    def needs_bytes(self, sets: int) -> int:
        """Memory for the call and `sets` sets of inputs; without a plan, only for the inputs.

        In a backward mode each further set also needs its residuals, which are the plan's arguments.
        """
        further = max(self.input_bytes, self.static.argument_bytes or 0)
        return (self.static.planned_bytes or self.input_bytes) + (sets - 1) * further

    def is_near_limit(self, limit_bytes: int, sets: int) -> bool:
        """Whether the call and `sets` sets of inputs come close to the limit."""
        return self.needs_bytes(sets) > NEAR_LIMIT * limit_bytes

    def why_died(self, died_of: str, limit_bytes: int, sets: int) -> str | None:
        """Why a process died, if its memory is near the limit; None if memory does not explain it.

        If an allocation fails inside a library, that library may end the process by a signal or an exit
        code that does not mention memory.
        """
        if not self.is_near_limit(limit_bytes, sets):
            return None
        further = self.needs_bytes(sets) - self.needs_bytes(1)
        more = f" and {format_bytes(further)} for further inputs" if further else ""
        near = f"{self._needs()}{more}, near the limit of {format_bytes(limit_bytes)}"
        return f"{near}, and its process died ({died_of}): {MORE_MEMORY}"

    def _needs(self) -> str:
        """`the compiler plans 900 MiB`, or the size of its inputs if nothing is planned."""
        if self.static.planned_bytes is None:
            return f"its inputs take {format_bytes(self.input_bytes)}"
        planner = traits_of(self.framework).planner
        return f"the {planner} plans {format_bytes(self.static.planned_bytes)}"


NOT_REACHED = "the run was interrupted before its first sample; go on with run --resume"


@dataclass
class CaseState:
    """A case with its process, its outcome, and the results of its stages.

    Compiling sets `plan`; verifying sets `call`, `correctness` and `checks`; preparing to sample sets
    `setup`. These are frozen; only `samples` is mutable. `within` is the folder that must contain its
    module; `crash_file` is a path in the run's folder.
    """

    case: Case
    info: ImplementationInfo
    baseline: bool = False
    side: str | None = None
    within: str | None = None
    worker: Worker | None = None
    status: str | None = None
    reason: str | None = None
    remedy: str | None = None
    crash_file: str = ""
    started: str = field(default_factory=lambda: f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}")
    wall_s: float = 0.0
    compiled: bool = False
    plan: CompiledPlan = field(init=False)
    call: KnownCall = NOT_CALLED
    correctness: Correctness | None = None
    checks: tuple[Checked, ...] = ()
    setup: SamplingSetup = ONE_BY_ONE
    samples: Samples = field(default_factory=Samples)
    kernels_run: tuple[tuple[str, int], ...] = ()  # of one call in order, with their counts
    kernels_unknown: str = ""  # why the kernels of a profiled call are unknown
    profile: Profile | None = None

    def __post_init__(self) -> None:
        self.plan = CompiledPlan(self.info.framework, Static.none(NOT_COMPILED))

    @property
    def id(self) -> str:
        return self.case.id

    @property
    def is_interpreted(self) -> bool:
        """Whether its kernels are interpreted on this device: results can be verified, but not timed."""
        return self.case.device in traits_of(self.info.framework).interpreted_on

    @property
    def unsettled(self) -> bool:
        return self.status is None

    def warn(self, *sentences: str) -> None:
        """Add warnings that are shown with its timing."""
        self.samples.warnings += sentences

    def settle(self, status: str, reason: str | None = None, remedy: str = "") -> None:
        """Set the outcome, unless it is already set, and end its process."""
        if self.status is None:
            self.reason, self.status = reason, status
            self.remedy = None if status == "ok" else remedy or BY_STATUS.get(status, "")
        self.end()

    def interrupt(self) -> None:
        """Settle a case that is interrupted, and kill its process, for which another thread may wait."""
        if self.status is None:
            self.reason, self.status = NOT_REACHED, "skipped"
        if self.worker is not None:
            self.worker.kill()

    def end(self) -> None:
        """End its process, if it has one."""
        if self.worker is not None:
            self.worker.close()
            self.worker = None

    def cut_short(self) -> None:
        """Settle an interrupted case (Ctrl-C), with its samples so far."""
        if self.samples.timed:
            self.samples.stopped = "interrupted"
            self.warn("stopped before the result of a timed call was verified")
            self.settle("ok")
        else:
            self.settle("skipped", NOT_REACHED)
