"""A record: a case, its outcome, and the evidence. It is one JSON line of a run.

A record cannot be built if status and evidence disagree. It has no timing without a passed contract, no
negative figure, and no missing figure without a reason.
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

PLANNED = "planned"  # verified in an interpreter, or only compiled, so it was not timed
UNJUDGED = "unjudged"  # not checked, because its family's code failed
STATUSES = ("ok", "oom", "timeout", "crashed", "unsupported", "incorrect", "skipped", PLANNED, UNJUDGED)
CACHES = ("rotated", "flushed", "warm")
STOPS = ("interval", "budget", "interrupted")
LAUNCH_BOUND = 1.25  # launch-bound: from call to result takes more than this factor of the device's time
COUNTED_MODE = "fwd"  # the cost formulas do not include a backward
COVERAGES = ("whole", "rows")
TIMED = ("run", "profile")  # depths of a run with timings


def state_bound(bound: str) -> tuple[str, ...]:
    """The sentence that is shown with every figure of a case with an author's bound; else empty."""
    return (f"its author's bound: {bound}",) if bound else ()


@dataclass(frozen=True, slots=True)
class Correctness:
    """The result of a contract."""

    contract: str  # its name, with its bound: `exact`, `within 3.1e-06`
    passed: bool
    coverage: str  # one of COVERAGES: the whole result was compared, or selected rows
    figures: Mapping[str, Value] = field(default_factory=dict)  # the numbers that decided it

    def __post_init__(self) -> None:
        require_member("coverage", self.coverage, COVERAGES)


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of a check on one case."""

    check: str  # `family/name`
    objection: str  # the objection that the check tests
    passed: bool | None  # None: a property, described by its figures
    figures: Mapping[str, Value] = field(default_factory=dict)  # the numbers that decided it
    reason: str = ""
    expected: bool = False  # the implementation is marked to fail it there

    @property
    def unexpected(self) -> bool:
        return self.passed is not None and self.passed == self.expected


@dataclass(frozen=True, slots=True)
class GpuReading:
    """NVML's readings of a GPU between two rounds of samples; None if its driver has no value."""

    round: int  # the next round
    sm_mhz: int | None  # clock of its multiprocessors
    memory_mhz: int | None  # clock of its memory
    celsius: int | None  # temperature of its die
    watts: float | None  # power of its board
    reasons: int | None  # why its clocks are limited, by the bits of nvmlClocksEventReasons


MOST_OTHER_LOAD = 0.2  # cores
MOST_QUEUED = 0.1  # of the samples' time, from the load test in docs/RELIABILITY.md


@dataclass(frozen=True, slots=True)
class Timing:
    """The timing of a case: all samples, and how they were taken."""

    samples_s: tuple[float, ...]  # seconds per call, in the order taken
    round: tuple[int, ...]  # the round of each sample
    median_s: float  # seconds per call
    low_s: float | None  # seconds: bounds of the median at 95 %, over rounds of one process
    high_s: float | None  # both are None with too few rounds
    method: str  # one of METHODS, with the host's clock or the device's
    cache: str  # one of CACHES: the state of the caches before a call
    inner: int  # calls in one sample
    stopped: str  # one of STOPS: why sampling stopped
    discarded: int = 0  # samples that are not in `samples_s`
    warnings: tuple[str, ...] = ()
    gpu: tuple[GpuReading, ...] = ()  # before, between and after the rounds; only on CUDA
    latency_s: float | None = None  # from dispatch to result by the host's clock, if the device's was used
    latency_low_s: float | None = None  # seconds: bounds of that median at 95 %, over rounds
    latency_high_s: float | None = None  # both are None with too few rounds
    queued: float | None = None  # time that threads waited for a core, in units of the samples' time
    other_load: float | None = None  # cores that other programs used while its group was sampled

    def __post_init__(self) -> None:
        require_member("method", self.method, tuple(METHODS))
        require_member("cache", self.cache, CACHES)
        require_member("stopped", self.stopped, STOPS)
        if not self.samples_s or len(self.samples_s) != len(self.round):
            raise ValueError("a timing needs samples, each with its round")
        # Two built-ins are fast for millions of samples: the sum is inf or NaN if a sample is.
        if not (min(self.samples_s) > 0 and sum(self.samples_s) < math.inf):
            raise ValueError("a sample must be a positive number of seconds")

    @property
    def launch_bound(self) -> bool:
        """Whether a call on a GPU takes much longer from call to result than on the device."""
        return (self.latency_low_s or 0.0) > LAUNCH_BOUND * self.median_s

    @property
    def was_queued(self) -> bool:
        """Whether other programs used the processor, so that samples of the host's clock decide nothing.

        Threads may also wait for each other: XLA's do for half of the samples' time on a quiet machine.
        """
        return (
            self.method == "wall"
            and (self.queued or 0) > MOST_QUEUED
            and (self.other_load or 0) > MOST_OTHER_LOAD
        )


@dataclass(frozen=True, slots=True)
class StageFigures:
    """A stage of a profiled case, or the time outside all stages."""

    stage: str  # the family's name, `outer/inner`, or `a + b` for shared operators; empty outside stages
    samples_s: tuple[float, ...]  # seconds of one call in each round, without inner stages
    entered: int | None  # times that a call enters it; None if unknown
    operators: int | None = None  # dispatched in one call, without views; None if not counted
    flops: int | None = None  # of matrix products and attention kernels
    bytes: int | None = None  # read and written by its operators, from their operands' sizes
    beside_s: tuple[float, ...] = ()  # more seconds in which it ran, parallel to stages that have this time


@dataclass(frozen=True, slots=True)
class OperatorFigures:
    """An operator of one profiled call, in one of the stages that use it."""

    operator: str  # the framework's or compiler's name
    stage: str  # in which it ran; empty outside stages
    seconds: float  # without the operators that it calls
    calls: int  # in one profiled call
    bytes: int | None = None  # of its operands and results; None if not counted


@dataclass(frozen=True, slots=True)
class Profile:
    """The profile of a call by stages and rounds; in each round they add up to the call with marks."""

    plain_s: tuple[float, ...]  # seconds of a call without marks in each round, of the same method
    stages: tuple[StageFigures, ...]  # in the order of a call
    operators: tuple[OperatorFigures, ...] = ()  # the slowest ones, if requested

    def __post_init__(self) -> None:
        if any(len(stage.samples_s) != len(self.plain_s) for stage in self.stages) or not self.plain_s:
            raise ValueError("a profile needs rounds, with a sample of every stage in each round")


@dataclass(frozen=True, slots=True)
class Cost:
    """Analytic work of a workload, from the family's formulas; None without a formula."""

    flops: int | float | None = None  # floating-point operations that the semantics need in one call
    bytes: int | float | None = None  # bytes that every implementation must read and write
    dense_flops: int | float | None = None  # floating-point operations of the dense counterpart

    def __post_init__(self) -> None:
        for work in (self.flops, self.bytes, self.dense_flops):
            if work is not None and not 0 <= work < math.inf:
                raise ValueError(f"a cost of {work} is not a number ≥ 0")


@dataclass(frozen=True, slots=True)
class Memory:
    """Measured memory."""

    high_water_bytes: int | None = None  # resident peak during the calls, minus the resident bytes before


@dataclass(frozen=True, slots=True)
class Record:
    """The record of one case in one run: its outcome and the evidence."""

    run: str  # the run's id
    case: str  # the case's id, from the fields `implementation` to `workload`
    family: str
    implementation: str
    semantics: str  # the required result, by the family's or the author's name
    options: Mapping[str, Value]  # of the implementation
    framework: str
    device: str
    mode: str  # fwd, bwd or fwd_bwd
    seq: int  # sequence length, in elements
    workload: Mapping[str, Value]  # all of the workload's fields, with `seq`
    seed: int  # of the inputs
    status: str  # one of STATUSES
    reason: str | None = None  # why it is not ok, in one sentence
    remedy: str | None = None  # the flag that may let it run, or ""; None if ok, or in older records
    crash_file: str = ""  # path in the run's folder to traceback and output of a crash
    expected: bool = False  # it is marked as incorrect here
    baseline: bool = False  # speedups of its group are relative to it
    side: str | None = None  # candidate or base, in a gate
    bound: str = ""  # the author's error bound, if the semantics is the author's
    replicate: int = 0  # the number of the group's repetition, each in new processes
    correctness: Correctness | None = None
    checks: tuple[Checked, ...] = ()
    facts: Mapping[str, Value] = field(default_factory=dict)  # stated by the implementation
    timing: Timing | None = None
    static: Mapping[str, Static] = field(default_factory=dict)  # by target
    cost: Cost = Cost()
    memory: Memory = Memory()
    profile: Profile | None = None
    kernels_run: tuple[tuple[str, int], ...] = ()  # kernels of one call on CUDA, in order, with their counts
    kernels_unknown: str = ""  # why the kernels of a profiled call on CUDA are unknown
    source: str = ""  # `sha256:…` of the code that it depends on
    fingerprint: str = ""  # `sha256:…` of the facts that must be equal before two timings are compared
    environment: str = ""  # `sha256:…` of the rest of the machine's state
    started: str = ""  # UTC, ISO 8601
    wall_s: float = 0.0  # seconds of all turns of the case
    schema: int = SCHEMA

    def __post_init__(self) -> None:
        require_member("status", self.status, STATUSES)
        if not (
            self.implementation.startswith(f"{self.family}/")
            and self.case.startswith(self.implementation)
            and self.case.endswith(f":{self.mode}:{self.device}")
            and self.workload.get("seq") == self.seq
        ):
            raise ValueError(f"{self.case}: its id does not match its fields")
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
        """The record's unique key in its run."""
        return (self.case, self.replicate, self.side)

    @property
    def unexpected(self) -> bool:
        """Whether a result is wrong without a mark, or right despite a mark as incorrect."""
        right = self.correctness is not None and self.correctness.passed
        is_odd = right if self.expected else self.status == "incorrect"
        return is_odd or any(checked.unexpected for checked in self.checks)

    @property
    def as_case(self) -> Case:
        return Case.of(self.implementation, self.options, self.workload, self.mode, self.device)

    def to_json(self) -> dict[str, Any]:
        """The record as plain data, with `schema` first, and `remedy` if known."""
        data = asdict(self)
        remedy = {"remedy": given} if (given := data.pop("remedy")) is not None else {}
        return {"schema": data.pop("schema"), **data, **remedy}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Record":
        """Read the output of :meth:`to_json`; unknown fields are left out.

        Raises ValueError if the schema is newer, a value has another type, or the record contradicts itself.
        """
        if data.get("schema") != SCHEMA:
            raise ValueError(f"schema {data.get('schema')} is not {SCHEMA}; use the seqsweep that wrote it")
        try:
            return from_plain(cls, data)
        except ValueError as error:
            raise ValueError(f"not a record: {error}") from None
