"""The flags of a timed gate that are its own."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GateOptions:
    """The flags of a timed gate that are its own."""

    against: str | None
    max_pairs: int
    budget_s: float
    inconclusive: str
    self_check: bool = False
    resume: bool = False
