"""A case while its group runs: what is known of it so far, and the record that it becomes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.catalog.catalog import ImplementationInfo
from harness.run.executor import Worker
from harness.spec.case import Case
from harness.spec.order import median_interval
from harness.spec.record import Correctness, Cost, Memory, Record, Static, Timing


@dataclass(frozen=True)
class Stamp:
    """What all records of a run share."""

    run: str
    fingerprint: str
    environment: str
    seed: int


@dataclass
class Member:
    case: Case
    info: ImplementationInfo
    baseline: bool
    started: str
    worker: Worker | None = None
    status: str | None = None
    reason: str | None = None
    static: Static = field(default_factory=lambda: Static.none("the case ended before it was compiled"))
    cost: Cost = field(default_factory=Cost)
    expected: bool = False
    expectation: str | None = None
    input_bytes: int = 0
    call_s: float = 0.0
    inner: int = 1
    correctness: Correctness | None = None
    high_water_bytes: int | None = None
    method: str = "wall"
    cache: str = "rotated"
    samples: list[float] = field(default_factory=list)
    rounds: list[int] = field(default_factory=list)
    stopped: str = "budget"
    warnings: list[str] = field(default_factory=list)
    wall_s: float = 0.0

    @property
    def id(self) -> str:
        return self.case.id

    @property
    def living(self) -> bool:
        return self.status is None

    def settle(self, status: str, reason: str | None = None) -> None:
        """The case is decided; its process ends."""
        if self.status is None:
            self.status, self.reason = status, reason
        if self.worker is not None:
            self.worker.close()
            self.worker = None

    def take_prepared(self, answer: Mapping[str, Any], limit_bytes: int) -> None:
        """Keep the figures of a compiled case; `fits` compares its plan with the limit."""
        figures = dict(answer["static"])
        figures["custom_calls"] = tuple(figures["custom_calls"])
        figures["warnings"] = tuple(figures["warnings"])
        static = Static(**figures)
        planned = static.planned_bytes
        fits = None if planned is None else planned <= limit_bytes
        self.static = dataclasses.replace(static, fits=fits)
        self.cost = Cost(**answer["cost"])
        self.expected, self.expectation = answer["expected"], answer["expectation"]
        self.input_bytes = answer["input_bytes"]

    def needs_bytes(self, sets: int) -> int:
        """Memory for its plan and the further sets of inputs; inputs alone where nothing is planned."""
        return (self.static.planned_bytes or self.input_bytes) + (sets - 1) * self.input_bytes

    def timing(self) -> Timing | None:
        if not self.samples or self.status != "ok" or self.correctness is None:
            return None
        by_round: dict[int, list[float]] = {}
        for round_, sample in zip(self.rounds, self.samples, strict=True):
            by_round.setdefault(round_, []).append(sample)
        levels = [median_interval(values)[0] for values in by_round.values()]
        _, low, high = median_interval(levels)
        return Timing(
            samples_s=tuple(self.samples),
            round=tuple(self.rounds),
            median_s=median_interval(self.samples)[0],
            low_s=low,
            high_s=high,
            method=self.method,
            cache=self.cache,
            inner=self.inner,
            stopped=self.stopped,
            warnings=tuple(self.warnings),
        )

    def record(self, stamp: Stamp, target: str, replicate: int) -> Record:
        return Record(
            run=stamp.run,
            case=self.id,
            family=self.case.family,
            implementation=self.case.implementation,
            semantics=self.info.semantics,
            options=dict(self.case.options),
            framework=self.info.framework,
            device=self.case.device,
            mode=self.case.mode,
            seq=self.case.seq,
            workload=dict(self.case.workload),
            seed=stamp.seed,
            status=self.status or "crashed",
            reason=self.reason,
            expected=self.expected,
            baseline=self.baseline,
            replicate=replicate,
            correctness=self.correctness,
            timing=self.timing(),
            static={target: self.static},
            cost=self.cost,
            memory=Memory(self.high_water_bytes),
            source=self.info.hash,
            fingerprint=stamp.fingerprint,
            environment=stamp.environment,
            started=self.started,
            wall_s=self.wall_s,
        )
