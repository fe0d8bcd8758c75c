"""The state of one case while its group runs: the result of each stage, and whether the case is settled."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

from harness.catalog.catalog import ImplementationInfo
from harness.catalog.known_frameworks import traits_of
from harness.core.case import Case
from harness.core.record import Checked, Correctness, Profile
from harness.core.remedy import BY_STATUS
from harness.core.static_figures import Static
from harness.run.case.compiled_plan import NOT_COMPILED, CompiledPlan
from harness.run.case.samples import NOT_CALLED, ONE_BY_ONE, KnownCall, Samples, SamplingSetup
from harness.run.processes.executor import Worker

NOT_REACHED = "the run was interrupted before its first sample; go on with run --resume"


@dataclass(frozen=True)
class KernelsRun:
    """The kernels of one call in order, with their counts; why they are `unknown`, if one was profiled."""

    counts: tuple[tuple[str, int], ...] = ()
    unknown: str = ""


@dataclass
class CaseState:
    """A case with its process, how it was settled, and the results of its stages.

    Compiling sets `plan`; verifying `call`, `correctness` and `checks`; preparing to sample `setup`. These
    are frozen; only `samples` is mutable. `within` is the folder that its module must lie in; `crash_file` is
    a path in the run's folder.
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
    kernels: KernelsRun = KernelsRun()
    profile: Profile | None = None

    def __post_init__(self) -> None:
        self.plan = CompiledPlan(self.info.framework, Static.none(NOT_COMPILED))

    @property
    def id(self) -> str:
        return self.case.id

    @property
    def is_interpreted(self) -> bool:
        """Whether its kernels are interpreted on this device: results can be verified, times mean nothing."""
        return self.case.device in traits_of(self.info.framework).interpreted_on

    @property
    def living(self) -> bool:
        return self.status is None

    def warn(self, *sentences: str) -> None:
        """Add warnings that are shown with its timing."""
        self.samples.warnings += sentences

    def settle(self, status: str, reason: str | None = None, remedy: str = "") -> None:
        """Decide the outcome, unless it is decided, and end its process."""
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
        if self.samples.readings:
            self.samples.stopped = "interrupted"
            self.warn("stopped before an answer under the clock was judged")
            self.settle("ok")
        else:
            self.settle("skipped", NOT_REACHED)
