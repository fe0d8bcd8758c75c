"""A record: a case, what became of it, and the evidence. One JSON line of a run.

Status and evidence agree or the record cannot be built: there is no timing without a passed
contract, no negative figure, and no missing figure without the reason it is missing.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from harness.core.case import Case
from harness.core.clocks import METHODS
from harness.core.errors import require_member
from harness.core.plain_data import from_plain
from harness.core.static_figures import Static
from harness.core.workload import Value

SCHEMA = 1

PLANNED = "planned"  # judged by an interpreter, or compiled alone: nothing here could time it
UNJUDGED = "unjudged"  # its family's own code failed, which says nothing about the implementation
STATUSES = ("ok", "oom", "timeout", "crashed", "unsupported", "incorrect", "skipped", PLANNED, UNJUDGED)
CACHES = ("rotated", "flushed", "warm")
STOPS = ("interval", "budget", "interrupted")
COUNTED_MODE = "fwd"  # the formulas of costs count no backward
COVERAGES = ("whole", "rows")
TIMED = ("run", "profile")  # depths of a run that read the clock


def state_bound(bound: str) -> tuple[str, ...]:
    """The sentence beside every figure of a case whose author states a bound; none without a bound."""
    return (f"its author's bound: {bound}",) if bound else ()


@dataclass(frozen=True, slots=True)
class Correctness:
    """The verdict of a contract."""

    contract: str  # its name, with its bound: `exact`, `within 3.1e-06`
    passed: bool
    coverage: str  # one of COVERAGES: the whole result was compared, or chosen rows of it
    figures: Mapping[str, Value] = field(default_factory=dict)  # the numbers it was decided on

    def __post_init__(self) -> None:
        require_member("coverage", self.coverage, COVERAGES)


@dataclass(frozen=True, slots=True)
class Checked:
    """The outcome of a check on one case."""

    check: str  # `family/name`
    objection: str  # the doubt that it answers
    passed: bool | None  # None: a property, whose figures are its size
    figures: Mapping[str, Value] = field(default_factory=dict)  # the numbers it was decided on
    reason: str = ""
    expected: bool = False  # the implementation is declared to fail it there

    @property
    def unexpected(self) -> bool:
        return self.passed is not None and self.passed == self.expected


@dataclass(frozen=True, slots=True)
class GpuReading:
    """A GPU between two rounds of samples, as NVML reads it; None where its driver gives no value."""

    round: int  # the round that came next
    sm_mhz: int | None  # clock of its multiprocessors
    memory_mhz: int | None  # clock of its memory
    celsius: int | None  # temperature of its die
    watts: float | None  # power that its board draws
    reasons: int | None  # what holds its clocks, by the bits of nvmlClocksEventReasons


MOST_OTHER_LOAD = 0.2  # cores
MOST_QUEUED = 0.1  # of the readings' time: the drill of load in docs/RELIABILITY.md shows what it separates


@dataclass(frozen=True, slots=True)
class Timing:
    """The timing of a case: all readings, and how they were taken."""

    samples_s: tuple[float, ...]  # seconds per call, one for each reading, in the order taken
    round: tuple[int, ...]  # the round in which each reading was taken
    median_s: float  # seconds per call
    low_s: float | None  # seconds: bounds of the median at 95 %, over rounds of one process
    high_s: float | None  # both are None with too few rounds
    method: str  # one of METHODS, each of which reads the host's clock or the device's
    cache: str  # one of CACHES: what a call finds in the caches
    inner: int  # calls that make one reading
    stopped: str  # one of STOPS: why there are no more readings
    discarded: int = 0  # readings that were left out of `samples_s`
    warnings: tuple[str, ...] = ()
    gpu: tuple[GpuReading, ...] = ()  # of its device before, between and after the rounds; of CUDA alone
    latency_s: float | None = None  # from dispatch to result by the host's clock, where a device's was read
    latency_low_s: float | None = None  # seconds: bounds of that median at 95 %, over rounds
    latency_high_s: float | None = None  # both are None with too few rounds
    queued: float | None = None  # that threads waited for a core, in units of the readings' time
    other_load: float | None = None  # cores that other programs kept busy while its group was sampled

    def __post_init__(self) -> None:
        require_member("method", self.method, tuple(METHODS))
        require_member("cache", self.cache, CACHES)
        require_member("stopped", self.stopped, STOPS)
        if not self.samples_s or len(self.samples_s) != len(self.round):
            raise ValueError("a timing needs samples, each with its round")
        # By two built-ins, as a stored run has millions of samples: the sum is inf or NaN where a sample is.
        if not (min(self.samples_s) > 0 and sum(self.samples_s) < math.inf):
            raise ValueError("a sample must be a positive number of seconds")

    @property
    def was_queued(self) -> bool:
        """Whether other programs took the processor, so that readings of the host's clock decide nothing.

        Its threads may also wait for each other: XLA's do on a quiet machine, half of the readings' time.
        """
        return (
            self.method == "wall"
            and (self.queued or 0) > MOST_QUEUED
            and (self.other_load or 0) > MOST_OTHER_LOAD
        )


@dataclass(frozen=True, slots=True)
class StageFigures:
    """A stage of a profiled case, or what no stage holds."""

    stage: str  # the family's name, `outer/inner`, or `a + b` of operators of several; empty for none
    samples_s: tuple[float, ...]  # seconds of one call in each round, without the stages inside it
    entered: int | None  # how often a call begins it; None where that is not known
    operators: int | None = None  # dispatched in one call, without views; None where they are not counted
    flops: int | None = None  # of matrix products and attention kernels
    bytes: int | None = None  # read and written by its operators, by their operands' sizes
    beside_s: tuple[float, ...] = ()  # seconds more in which it ran, beside stages that have that time


@dataclass(frozen=True, slots=True)
class OperatorFigures:
    """An operator of one profiled call, in one of the stages that use it."""

    operator: str  # by the name that its framework or compiler has for it
    stage: str  # in which it ran; empty for none
    seconds: float  # its own, without the operators that it calls
    calls: int  # how often it ran
    bytes: int | None = None  # of its operands and results; None where they are not counted


@dataclass(frozen=True, slots=True)
class Profile:
    """The profile of a call by stages, round by round; in each round they add up to the marked call."""

    plain_s: tuple[float, ...]  # seconds of a call without marks in each round, of the same method
    stages: tuple[StageFigures, ...]  # in the order in which a call begins them
    operators: tuple[OperatorFigures, ...] = ()  # those that took longest, where asked for

    def __post_init__(self) -> None:
        if any(len(stage.samples_s) != len(self.plain_s) for stage in self.stages) or not self.plain_s:
            raise ValueError("a profile needs rounds, with a reading of every stage in each")


@dataclass(frozen=True, slots=True)
class Cost:
    """Analytic work of a workload, from the family's formulas; None where it has none."""

    flops: int | float | None = None  # floating-point operations of one call, as the semantics need them
    bytes: int | float | None = None  # bytes that every implementation must read and write
    dense_flops: int | float | None = None  # floating-point operations of the dense counterpart

    def __post_init__(self) -> None:
        for work in (self.flops, self.bytes, self.dense_flops):
            if work is not None and not 0 <= work < math.inf:
                raise ValueError(f"a cost of {work}: work is a number from 0 on")


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory as it was measured while calling."""

    high_water_bytes: int | None = None  # resident peak over the calls, less what was resident before


@dataclass(frozen=True, slots=True)
class Record:
    """The record of one case in one run: its outcome and the evidence."""

    run: str  # the run's id
    case: str  # the case's id, which holds the fields from `implementation` to `workload`
    family: str
    implementation: str
    semantics: str  # what the result has to be, by the family's name for it, or its author's
    options: Mapping[str, Value]  # of the implementation
    framework: str
    device: str
    mode: str  # fwd, bwd or fwd_bwd
    seq: int  # sequence length, in elements
    workload: Mapping[str, Value]  # all of the workload's fields, `seq` among them
    seed: int  # of the inputs
    status: str  # one of STATUSES
    reason: str | None = None  # why it is not ok, in one sentence
    remedy: str | None = None  # the flag that may let it run, or none (""); None where it is ok, or older
    crash_file: str = ""  # traceback and output of a crash, by its path in the run's folder
    expected: bool = False  # it is declared to be incorrect here
    baseline: bool = False  # speedups of its group are over this one
    side: str | None = None  # candidate or base, in a gate
    bound: str = ""  # how close its author says that a result comes, where the semantics is the author's
    replicate: int = 0  # which repetition of the group in processes of its own
    correctness: Correctness | None = None
    checks: tuple[Checked, ...] = ()
    facts: Mapping[str, Value] = field(default_factory=dict)  # what the implementation states of itself
    timing: Timing | None = None
    static: Mapping[str, Static] = field(default_factory=dict)  # by target
    cost: Cost = Cost()
    memory: Memory = Memory()
    profile: Profile | None = None
    kernels_run: tuple[tuple[str, int], ...] = ()  # kernels of one call on CUDA, in order, with their counts
    kernels_unknown: str = ""  # why there are none, where a call on CUDA was profiled
    source: str = ""  # `sha256:…` of the code that it depends on
    fingerprint: str = ""  # `sha256:…` of what must be equal for two timings to be compared
    environment: str = ""  # `sha256:…` of the rest of the machine's state
    started: str = ""  # UTC, ISO 8601
    wall_s: float = 0.0  # seconds that the case took as a whole, in turns with its group
    schema: int = SCHEMA

    def __post_init__(self) -> None:
        require_member("status", self.status, STATUSES)
        if not (
            self.implementation.startswith(f"{self.family}/")
            and self.case.startswith(self.implementation)
            and self.case.endswith(f":{self.mode}:{self.device}")
            and self.workload.get("seq") == self.seq
        ):
            raise ValueError(f"{self.case}: is another case than its fields say")
        passed = self.correctness is not None and self.correctness.passed
        failed = self.correctness is not None and not passed
        for contradicts, what in (
            (self.status != "ok" and not self.reason, f"status {self.status} without a reason"),
            (self.timing and not (self.status == "ok" and passed), "a timing without a passed contract"),
            (self.profile and not self.timing, "a profile without a timing"),
            (self.status == "incorrect" and not failed, "incorrect without a failed contract"),
            (self.status == "ok" and failed, "ok with a failed contract"),
        ):
            if contradicts:
                raise ValueError(f"{self.case}: {what}")

    @property
    def key(self) -> tuple[str, int, str | None]:
        """The record's identity in its run, which holds it once."""
        return (self.case, self.replicate, self.side)

    @property
    def unexpected(self) -> bool:
        """Whether the result is wrong without being declared so, or right although declared wrong."""
        right = self.correctness is not None and self.correctness.passed
        is_odd = right if self.expected else self.status == "incorrect"
        return is_odd or any(checked.unexpected for checked in self.checks)

    @property
    def as_case(self) -> Case:
        return Case.of(self.implementation, self.options, self.workload, self.mode, self.device)

    def to_json(self) -> dict[str, Any]:
        """The record as plain data, `schema` first; `remedy` where it is known."""
        data = asdict(self)
        remedy = {"remedy": given} if (given := data.pop("remedy")) is not None else {}
        return {"schema": data.pop("schema"), **data, **remedy}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Record":
        """Read what :meth:`to_json` wrote; fields unknown to this version are left out.

        Raises ValueError when the schema is newer, a value has another type, or the record contradicts
        itself.
        """
        if data.get("schema") != SCHEMA:
            raise ValueError(f"schema {data.get('schema')} is not {SCHEMA}; use a seqsweep that wrote it")
        try:
            return from_plain(cls, data)
        except ValueError as error:
            raise ValueError(f"not a record: {error}") from None
