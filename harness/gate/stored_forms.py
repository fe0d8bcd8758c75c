"""The forms of a gate's files: the types of what readers take from them; all else is kept as it is.

msgspec reads these classes, which it could not as strings.
"""

from typing import Any, Required, TypedDict


class CaseForm(TypedDict, total=False):
    """The evidence on one case, of which `--explain` reads the rest."""

    series: Required[str]
    seq: Required[int]


class HeaderForm(TypedDict, total=False):
    """gate.json."""

    command: list[str]
    started: str | None
    request: str | None
    sources: dict[str, str] | None
    outcome: dict[str, Any] | None
    evidence: dict[str, CaseForm]


class PairForm(TypedDict):
    """A line of pairs.jsonl."""

    pair: int
    case: str
    effect: float
    log_ratios: list[float]
    levels_s: tuple[float, float]
    tail: float
