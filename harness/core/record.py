"""A record: a case, what became of it, and the evidence. One JSON line of a run.

Status and evidence agree or the record cannot be built: there is no timing without a passed
contract, no negative figure, and no missing figure without the reason it is missing.
"""

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.core.case import Case
from harness.core.workload import Value

SCHEMA = 1

STATUSES = ("ok", "oom", "timeout", "crashed", "unsupported", "incorrect", "skipped")
METHODS = ("wall", "cuda_events")
CACHES = ("rotated", "flushed", "warm")
STOPS = ("interval", "budget", "interrupted")
COVERAGES = ("whole", "rows")
FLOPS_SOURCES = ("compiled", "optimised_module", "matmul_only")

STATIC_FIGURES = (
    "argument_bytes",
    "output_bytes",
    "temp_bytes",
    "alias_bytes",
    "peak_bytes",
    "flops",
    "bytes_accessed",
)
LATER_FIGURES = ("generated_code_bytes", "optimal_s")  # records of earlier versions know nothing of these


def _member(name: str, value: str | None, closed: tuple[str, ...]) -> None:
    if value not in closed:
        raise ValueError(f'{name} "{value}" is none of {", ".join(closed)}')


@dataclass(frozen=True)
class Correctness:
    """The verdict of a contract. `figures` are the numbers it was decided on."""

    contract: str
    passed: bool
    coverage: str
    figures: Mapping[str, float | int | str | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _member("coverage", self.coverage, COVERAGES)


@dataclass(frozen=True)
class Checked:
    """What became of a check (`family/name`) on one case; `passed` None: a property, with its size.

    `expected`: the implementation is declared to fail it there.
    """

    check: str
    objection: str
    passed: bool | None
    figures: Mapping[str, float | int | str | None] = field(default_factory=dict)
    reason: str = ""
    expected: bool = False

    @property
    def unexpected(self) -> bool:
        return self.passed is not None and self.passed == self.expected


@dataclass(frozen=True)
class Timing:
    """All readings of a case, in seconds per call, and how they were taken.

    `round[i]` is the round in which `samples_s[i]` was read; `inner` calls make one reading.
    `low_s` and `high_s` bound the median at 95 % over rounds of one process; null with too few.
    """

    samples_s: tuple[float, ...]
    round: tuple[int, ...]
    median_s: float
    low_s: float | None
    high_s: float | None
    method: str
    cache: str
    inner: int
    stopped: str
    discarded: int = 0
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _member("method", self.method, METHODS)
        _member("cache", self.cache, CACHES)
        _member("stopped", self.stopped, STOPS)
        if not self.samples_s or len(self.samples_s) != len(self.round):
            raise ValueError("a timing needs samples, each with its round")
        if not all(math.isfinite(sample) and sample > 0 for sample in self.samples_s):
            raise ValueError("a sample must be a positive number of seconds")


@dataclass(frozen=True)
class Collective:
    """One kind of transfer between devices: how often a device makes it, and the bytes it is left with."""

    op: str
    count: int
    bytes: int


@dataclass(frozen=True)
class OperatorWeight:
    """What a compiler expects one operator to weigh, in cycles of a single run. No time, and in no verdict.

    `turns` is how often its loops run it, None (counted as one) where that is not known; `share` is its
    part of all estimates of the program, turns included. `source` is `file:line`, empty where the module
    names none.
    """

    operator: str
    opcode: str
    source: str
    estimated_cycles: int
    turns: int | None
    share: float


@dataclass(frozen=True)
class Static:
    """What the compiler says of one target. Every figure that is None has its reason.

    All are one device's. Where a program has loops, FLOPs and bytes accessed hold a body times its trip
    count; `body_only` says that something in a loop may be counted once: a warning says why. `opcodes`
    counts the instructions of the optimised module by opcode, insides of fusions and loops once each;
    it is empty where the module cannot be read. `operator_weights` are the operators that a TPU's
    compiler expects to weigh most, heaviest first; `weighed` says how many have an estimate, of how many.
    """

    argument_bytes: int | None = None
    output_bytes: int | None = None
    temp_bytes: int | None = None
    alias_bytes: int | None = None
    peak_bytes: int | None = None
    flops: float | None = None
    flops_source: str | None = None
    bytes_accessed: float | None = None
    program: str | None = None
    custom_calls: tuple[str, ...] = ()
    lower_s: float | None = None
    compile_s: float | None = None
    fits: bool | None = None
    unavailable: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    generated_code_bytes: int | None = None
    optimal_s: float | None = None
    collectives: tuple[Collective, ...] = ()
    body_only: bool = False
    opcodes: Mapping[str, int] = field(default_factory=dict[str, int])
    operator_weights: tuple[OperatorWeight, ...] = ()
    weighed: tuple[int, int] = (0, 0)

    def __post_init__(self) -> None:
        if self.flops_source is not None:
            _member("flops_source", self.flops_source, FLOPS_SOURCES)
        absent = [name for name in LATER_FIGURES if getattr(self, name) is None]
        object.__setattr__(self, "unavailable", {**dict.fromkeys(absent, "not given"), **self.unavailable})
        for name in (*STATIC_FIGURES, *LATER_FIGURES):
            value = getattr(self, name)
            if value is None and name not in self.unavailable:
                raise ValueError(f"{name} is missing without a reason")
            if value is not None and not value >= 0:
                raise ValueError(f"{name} is {value}: what is negative or no number stands for unavailable")

    @classmethod
    def none(cls, reason: str) -> "Static":
        """No figure at all, and why."""
        return cls(unavailable=dict.fromkeys((*STATIC_FIGURES, *LATER_FIGURES, "program"), reason))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Static":
        return _build(cls, data)

    @property
    def planned_bytes(self) -> int | None:
        """What the program needs at once: arguments + outputs + temporaries − aliases."""
        if self.argument_bytes is None or self.output_bytes is None or self.temp_bytes is None:
            return None
        return self.argument_bytes + self.output_bytes + self.temp_bytes - (self.alias_bytes or 0)


@dataclass(frozen=True)
class Cost:
    """Analytic work of a workload, from the family's formulas; None where it has none."""

    flops: float | None = None
    bytes: float | None = None
    dense_flops: float | None = None


@dataclass(frozen=True)
class Memory:
    """Resident high-water mark over the calls, less what was resident before the first."""

    high_water_bytes: int | None = None


@dataclass(frozen=True)
class Record:
    run: str
    case: str
    family: str
    implementation: str
    semantics: str
    options: Mapping[str, Value]
    framework: str
    device: str
    mode: str
    seq: int
    workload: Mapping[str, Value]
    seed: int
    status: str
    reason: str | None = None
    expected: bool = False
    baseline: bool = False
    side: str | None = None
    replicate: int = 0
    correctness: Correctness | None = None
    checks: tuple[Checked, ...] = ()
    facts: Mapping[str, float | int | str | None] = field(default_factory=dict)
    timing: Timing | None = None
    static: Mapping[str, Static] = field(default_factory=dict)
    cost: Cost = Cost()
    memory: Memory = Memory()
    source: str = ""
    fingerprint: str = ""
    environment: str = ""
    started: str = ""
    wall_s: float = 0.0
    schema: int = SCHEMA

    def __post_init__(self) -> None:
        _member("status", self.status, STATUSES)
        if self.status != "ok" and not self.reason:
            raise ValueError(f"{self.case}: status {self.status} without a reason")
        if self.timing is not None and not (
            self.status == "ok" and self.correctness is not None and self.correctness.passed
        ):
            raise ValueError(f"{self.case}: a timing without a passed contract")
        if self.status == "incorrect" and (self.correctness is None or self.correctness.passed):
            raise ValueError(f"{self.case}: incorrect without a failed contract")
        if self.status == "ok" and self.correctness is not None and not self.correctness.passed:
            raise ValueError(f"{self.case}: ok with a failed contract")

    @property
    def key(self) -> tuple[str, int, str | None]:
        """What may stand once in a run."""
        return (self.case, self.replicate, self.side)

    @property
    def unexpected(self) -> bool:
        """An implementation that is wrong where it should be right, or right where it should not."""
        judged_right = self.correctness is not None and self.correctness.passed
        if any(checked.unexpected for checked in self.checks):
            return True
        return (self.status == "incorrect" and not self.expected) or (self.expected and judged_right)

    @property
    def as_case(self) -> Case:
        return Case.of(self.implementation, self.options, self.workload, self.mode, self.device)

    def to_json(self) -> dict[str, Any]:
        """The record as plain data, `schema` first."""
        data = dataclasses.asdict(self)
        data["static"] = {target: dataclasses.asdict(fig) for target, fig in self.static.items()}
        return {"schema": data.pop("schema"), **data}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Record":
        """Read what :meth:`to_json` wrote; fields unknown to this version are left out.

        Raises ValueError when the schema is newer or the record contradicts itself.
        """
        if data.get("schema") != SCHEMA:
            raise ValueError(f"schema {data.get('schema')} is not {SCHEMA}; use a seqsweep that wrote it")
        values = {name: data[name] for name in _names(cls) if name in data}
        values["correctness"] = _build(Correctness, data.get("correctness"))
        values["checks"] = tuple(_build(Checked, one) for one in data.get("checks") or ())
        values["timing"] = _build(Timing, data.get("timing"))
        values["static"] = {
            target: _build(Static, figures) for target, figures in (data.get("static") or {}).items()
        }
        values["cost"] = _build(Cost, data.get("cost")) or Cost()
        values["memory"] = _build(Memory, data.get("memory")) or Memory()
        try:
            return cls(**values)
        except TypeError as error:
            raise ValueError(f"not a record: {error}") from None


def _names(kind: type) -> tuple[str, ...]:
    return tuple(entry.name for entry in dataclasses.fields(kind))


def _build(kind: type, data: Mapping[str, Any] | None) -> Any:
    if data is None:
        return None
    values = {name: data[name] for name in _names(kind) if name in data}
    for name, part in (("collectives", Collective), ("operator_weights", OperatorWeight)):
        if values.get(name):
            values[name] = [_build(part, one) for one in values[name]]
    return kind(**{name: tuple(v) if isinstance(v, list) else v for name, v in values.items()})
