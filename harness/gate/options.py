"""Options of the gate command, parsed from its flags."""

from dataclasses import dataclass, field
from pathlib import Path

from harness.core.errors import UsageError
from harness.core.units import format_seconds, parse_seconds
from harness.gate.outcome import FAIL, WARN
from harness.sweep.overrides import Overrides

LEAST_PAIRS = 4


@dataclass(frozen=True)
class GateOptions:
    """Options of a gate. UsageError for an invalid value.

    `overrides` take precedence over bench.yaml; `cases` are patterns of ids; `delta` is the text as typed, or
    None for each suite's Δ. `everything` also measures cases with the same code on both sides; `dry_run`
    measures nothing. `explain` is the pattern of one case; `junit` is the file to write. With `wait` the gate
    waits for devices that another benchmark uses.
    """

    suites: tuple[str, ...] = ()
    overrides: Overrides = field(default_factory=Overrides)
    against: str | None = None
    cases: tuple[str, ...] = ()
    delta: str | None = None
    max_pairs: int = 12
    budget_s: float = 300.0
    explain: str | None = None
    everything: bool = False
    dry_run: bool = False
    last: bool = False
    self_check: bool = False
    static: bool = False
    inconclusive: str = FAIL
    junit: Path | None = None
    wait: bool = False

    def __post_init__(self) -> None:
        if self.inconclusive not in {WARN, FAIL}:
            raise UsageError(f"--inconclusive {self.inconclusive}: write warn or fail")
        if self.max_pairs < LEAST_PAIRS:
            raise UsageError(f"--max-pairs {self.max_pairs}: a verdict needs at least {LEAST_PAIRS} pairs")


def parse_budget(text: str, flag: str = "--budget") -> float:
    """Seconds of wall time from a flag's text. UsageError if they are not above 0."""
    try:
        seconds = parse_seconds(text)
    except ValueError as error:
        raise UsageError(f"{flag}: {error}") from None
    if seconds <= 0:
        raise UsageError(f"{flag} {format_seconds(seconds)}: must be longer than 0 s")
    return seconds
