"""A case of the candidate and the case of the base that it is timed against, while a gate runs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from harness.gate.outcome import INCORRECT, INVALID, NEW, NOT_ENOUGH, REGRESSED, VANISHED
from harness.run.group.case_state import CaseState
from harness.run.group.group_context import GroupContext

CANDIDATE, BASE = "candidate", "base"
BOTH = (CANDIDATE, BASE)
LEFT_OUT = "left_out"  # runs on neither side, or is meant to fail: nothing to compare

COMPILING = {"jax"}  # frameworks whose every call is one compiled program
READINGS = 4  # the smallest of them is a side's value in a round: what disturbs a call only makes it longer
READING_SECONDS = 5e-4  # a reading is at least this long; shorter calls are repeated within it
NO_TIME = "the {} read a time that is not positive; leave the clock alone"
ROUNDS = ((0.02, 20), (0.2, 10), (math.inf, 5))  # (reading up to so many seconds, rounds of a pair)


@dataclass
class PairedCase:
    """`verdict` stays None as long as the case may be timed; then it has its reason.

    `inner` calls make a reading, the same number on both sides. `verified` and `verified_again` say
    whether its contract was checked before sampling, and after it.
    """

    sides: Mapping[str, CaseState]
    context: GroupContext
    inner: int = 1
    verified: bool = False
    verified_again: bool = False
    verdict: str | None = None
    reason: str = ""

    @property
    def id(self) -> str:
        return self.candidate.id

    @property
    def candidate(self) -> CaseState:
        return self.sides[CANDIDATE]

    @property
    def base(self) -> CaseState:
        return self.sides[BASE]

    @property
    def living(self) -> bool:
        return self.verdict is None

    @property
    def same_program(self) -> bool:
        """Whether one compiled program is all that either side runs.

        What a trace of eager calls records is not all: Python between them takes time, too.
        """
        mine, theirs = self.candidate, self.base
        compiled = {mine.info.framework, theirs.info.framework} <= COMPILING
        return compiled and mine.static.program is not None and mine.static.program == theirs.static.program

    @property
    def reading_s(self) -> float:
        return max(state.call_s for state in self.sides.values()) * self.inner

    @property
    def rounds(self) -> int:
        """Rounds of one pair of processes."""
        return next(rounds for most, rounds in ROUNDS if self.reading_s <= most)

    @property
    def cost_s(self) -> float:
        """What its rounds of one pair take, by what a call has taken."""
        calls = sum(state.call_s for state in self.sides.values()) * self.inner
        return calls * READINGS * (self.rounds + 1)

    def set_inner(self) -> None:
        """Calls per reading, from how long the first ones took; a side on which they took nothing lies."""
        for side, state in self.sides.items():
            if not 0 < state.call_s < math.inf:
                self.settle(INVALID, NO_TIME.format(side))
                return
        fastest = min(state.call_s for state in self.sides.values())
        self.inner = max(1, math.ceil(READING_SECONDS / max(fastest, 1e-7)))

    def settle(self, verdict: str, reason: str) -> None:
        """Decide the case without a time, unless it is decided; both sides end it."""
        if self.verdict is None:
            self.verdict, self.reason = verdict, reason
        for state in self.sides.values():
            state.end()

    def resolve(self) -> None:
        """Decide it where a side cannot be timed. A base that cannot is no fault of the candidate's."""
        mine, theirs = self.candidate, self.base
        if mine.status == "ok":  # an expected failure that passed
            self.settle(INCORRECT, mine.reason or "")
        elif mine.status is not None:
            self.settle(*_verdict_on_failure(mine, theirs))
        elif theirs.status is not None:
            why = theirs.reason or "its contract passed, against what it says of itself"
            self.settle(NEW, f"the base's is {theirs.status} ({why}): nothing to compare with")


def _verdict_on_failure(mine: CaseState, theirs: CaseState) -> tuple[str, str]:
    """The verdict on a case that the candidate cannot have timed, with its reason."""
    reason = mine.reason or ""
    if mine.status == "incorrect" and not mine.expected:
        return INCORRECT, reason
    if mine.status == "skipped":
        return NOT_ENOUGH, reason
    if mine.status not in {"incorrect", "unsupported", "oom"}:
        return INVALID, f"the candidate's is {mine.status}: {reason}"
    another = (
        mine.case.implementation != theirs.case.implementation
    )  # compared with another implementation: an unsupported case is no regression
    if another or theirs.status is not None:
        return LEFT_OUT, reason
    if mine.status == "oom":
        return REGRESSED, f"the base fits, the candidate does not: {reason}"
    did = "runs it, the candidate refuses" if mine.status == "unsupported" else "is correct"
    return VANISHED, f"the base {did}: {reason}"
