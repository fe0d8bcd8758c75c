"""How each verdict is shown: its style on a terminal, its level on GitHub, and its result in JUnit."""

from typing import NamedTuple

from harness.gate.outcome import (
    IMPROVED,
    INCORRECT,
    INVALID,
    NEW,
    NOT_ENOUGH,
    REGRESSED,
    UNCHANGED,
    VANISHED,
)

LEVELS = ("error", "warning", "notice")
FAILURE, ERROR, SKIPPED = "failure", "error", "skipped"


class Presentation(NamedTuple):
    """`level` is None for a verdict that needs no attention, `result` for a test that passed."""

    style: str
    level: str | None
    result: str | None


PRESENTATIONS = {
    INCORRECT: Presentation("bold red", "error", ERROR),
    INVALID: Presentation("bold red", "error", ERROR),
    REGRESSED: Presentation("bold red", "error", FAILURE),
    VANISHED: Presentation("yellow", "error", FAILURE),
    NOT_ENOUGH: Presentation("yellow", "warning", FAILURE),  # with --inconclusive warn skipped
    IMPROVED: Presentation("green", "notice", None),
    NEW: Presentation("cyan", None, SKIPPED),
    UNCHANGED: Presentation("green", None, None),
}
