"""Outcome of a gate: a verdict per case, one in total, and the exit code that follows.

Effects are natural logarithms of the candidate's time over the base's: 0.0488 is 5 % slower, and
exchanging the sides only changes the sign.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

REGRESSED = "regressed"
IMPROVED = "improved"
UNCHANGED = "unchanged"
NOT_ENOUGH = "not_enough_evidence"
NEW = "new"
VANISHED = "vanished"
INCORRECT = "incorrect"
INVALID = "invalid"

# The gate's verdict is the first of these that any case has: wrong before slower, slower before missing, and
# missing before undecided.
WEIGHT = (INCORRECT, INVALID, REGRESSED, VANISHED, NOT_ENOUGH, IMPROVED, NEW, UNCHANGED)
EXIT_CODES = {INCORRECT: 4, INVALID: 4, REGRESSED: 1, VANISHED: 3, NOT_ENOUGH: 3}

WARN, FAIL = "warn", "fail"  # exit code for not enough evidence: 0, or the one in EXIT_CODES
TIME, STATIC = "time", "static"


@dataclass(frozen=True)
class CaseVerdict:
    """Verdict on one case.

    `low` and `high` are one-sided 99 % bounds of `effect` over `pairs` pairs of processes. All three are
    None if nothing was timed; only the bounds are None if two pairs showed a gross slowdown. `reason` is one
    sentence, with a remedy if there is one. `notes` are advisory and do not change the verdict. `file` and
    `line` locate the case's implementation. `same_code`: the case was not measured, because both sides have
    the same code.
    """

    case: str
    verdict: str
    reason: str
    effect: float | None = None
    low: float | None = None
    high: float | None = None
    pairs: int = 0
    notes: tuple[str, ...] = ()
    file: str | None = None
    line: int | None = None
    same_code: bool = False


@dataclass(frozen=True)
class GateOutcome:
    """Result of a whole gate.

    `kind` is `time` or `static`; `base` describes what the candidate was compared with. `left_out`
    are cases that run on neither side, with the reason. `broken` is the error of a side that does not load.
    `slowdown` is Δ of each suite, as a fraction. `self_check`: both sides are the same code, so a difference
    shows that this machine is too noisy for the gate.
    """

    kind: str
    base: str
    cases: tuple[CaseVerdict, ...]
    left_out: Mapping[str, str] = field(default_factory=dict[str, str])
    notes: tuple[str, ...] = ()
    slowdown: Mapping[str, float] = field(default_factory=dict[str, float])
    broken: str | None = None
    self_check: bool = False
    inconclusive: str = FAIL
    wall_s: float = 0.0

    @property
    def verdict(self) -> str:
        """The gate's verdict, which decides the exit code."""
        verdicts = {case.verdict for case in self.cases}
        if self.broken or (self.self_check and verdicts & {REGRESSED, IMPROVED}):
            verdicts.add(INVALID)
        if not verdicts:  # nothing was compared, so nothing is shown to be unchanged
            verdicts.add(NOT_ENOUGH)
        heaviest = next((verdict for verdict in WEIGHT if verdict in verdicts), UNCHANGED)
        return heaviest if heaviest in EXIT_CODES else UNCHANGED

    @property
    def exit_code(self) -> int:
        if self.verdict == NOT_ENOUGH and self.inconclusive == WARN:
            return 0
        return EXIT_CODES.get(self.verdict, 0)

    def to_json(self) -> dict[str, Any]:
        data = asdict(self)
        return {"verdict": self.verdict, "exit_code": self.exit_code, **data}
