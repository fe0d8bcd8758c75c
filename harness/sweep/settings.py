"""Settings of a suite: budget, limits, threads, precision and seed, and the margins of its gate."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from harness.core.case import matches
from harness.core.errors import UsageError, nearest
from harness.core.machine import usable_cores, usable_memory
from harness.core.static_figures import EXACT_FIGURES
from harness.core.units import (
    parse_bytes,
    parse_count,
    parse_seconds,
    parse_share,
)

Amount = TypeVar("Amount", int, float)

_MEMORY_SHARE = 0.75
_SMALLEST_MEMORY = 1 << 20


def _default_memory() -> int:
    return int(usable_memory() * _MEMORY_SHARE)


@dataclass(frozen=True)
class Settings:
    """The settings of a suite's measurement.

    `budget_s` (sampling) and `timeout_s` (a worker's own turn) are per case. `memory_bytes` limits a
    measuring process. Sampling may stop once the relative half-width of the speedup's interval is at most
    `precision`.
    """

    budget_s: float = 4.0
    timeout_s: float = 60.0
    memory_bytes: int = field(default_factory=_default_memory)
    threads: int = field(default_factory=usable_cores)
    precision: float = 0.05
    seed: int = 0

    def with_overrides(self, values: Mapping[str, object]) -> Settings:
        """These settings overridden by values as typed, for example `{"budget": "4s", "memory": "75%"}`."""
        changed: dict[str, float | int] = {}
        for name, raw in values.items():
            if name not in _PARSERS:
                raise UsageError(f'unknown setting "{name}"{nearest(name, _PARSERS)}')
            attribute, parse = _PARSERS[name]
            try:
                changed[attribute] = parse(raw)
            except ValueError as error:
                raise UsageError(f"{name}: {error}") from None
        return dataclasses.replace(self, **changed)

    def shared_with(self, other: Settings) -> Settings:
        """The settings of cases that two suites share: the larger limit, the smaller precision.

        ValueError if they disagree on a setting that changes the figures.
        """
        for name in ("threads", "seed"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs:
                raise ValueError(f"{name} is {mine} in one and {theirs} in the other")
        return dataclasses.replace(
            self,
            budget_s=max(self.budget_s, other.budget_s),
            timeout_s=max(self.timeout_s, other.timeout_s),
            memory_bytes=max(self.memory_bytes, other.memory_bytes),
            precision=min(self.precision, other.precision),
        )


def _positive(amount: Amount) -> Amount:
    if amount <= 0:
        raise ValueError("must be more than 0")
    return amount


def _memory(raw: object) -> int:
    share = str(raw).strip().endswith("%")
    size = int(parse_share(raw) * usable_memory()) if share else parse_bytes(raw)
    if size < _SMALLEST_MEMORY:
        raise ValueError(f'"{raw}" is less than a process needs; write it with a unit, for example 4GiB')
    return size


def _seed(raw: object) -> int:
    seed = parse_count(raw)
    if seed >= 2**63:
        raise ValueError("must fit in 63 bits")
    return seed


_PARSERS: dict[str, tuple[str, Callable[[object], float | int]]] = {
    "budget": ("budget_s", lambda raw: _positive(parse_seconds(raw))),
    "timeout": ("timeout_s", lambda raw: _positive(parse_seconds(raw))),
    "memory": ("memory_bytes", _memory),
    "threads": ("threads", lambda raw: _positive(parse_count(raw))),
    "precision": ("precision", parse_share),
    "seed": ("seed", _seed),
}

NAMES = tuple(_PARSERS)

CASE = "case"  # the case's existence, which is not a figure
FIGURES = ("time", *EXACT_FIGURES, "custom_calls", "kernels", "contract", CASE)


@dataclass(frozen=True)
class Accept:
    """An intended change. `pattern` is an id or a glob; `figure` None means every figure."""

    where: str
    pattern: str
    figure: str | None
    reason: str


@dataclass(frozen=True)
class GateMargins:
    """The margins of a suite's gate: `delta` is the smallest slowdown to detect, as a share, or None."""

    delta: float | None = None
    accept: tuple[Accept, ...] = ()


def why_accepted(case_id: str, figure: str, accepts: Iterable[Accept]) -> str | None:
    """Why a change of the case's figure is accepted; a reason for this figure precedes one for all."""
    figures = {figure} if figure == CASE else {figure, None}
    matching = [accept for accept in accepts if accept.figure in figures and matches(accept.pattern, case_id)]
    return next(
        (accept.reason for accept in sorted(matching, key=lambda accept: accept.figure is None)), None
    )
