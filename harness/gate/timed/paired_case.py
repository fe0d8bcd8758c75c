"""A paired case: the candidate's case and its counterpart at the base, with their state while a gate runs."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from harness.catalog.known_frameworks import traits_of
from harness.gate.outcome import INCORRECT, INVALID, NEW, NOT_ENOUGH, REGRESSED, VANISHED
from harness.run.case.case_state import CaseState
from harness.run.group.group_context import GroupContext

CANDIDATE, BASE = "candidate", "base"
BOTH = (CANDIDATE, BASE)
LEFT_OUT = "left_out"  # runs on neither side, or is meant to fail: nothing to compare

READINGS = 4  # a side's value in a round is their minimum: disturbances only ever lengthen a call
READING_SECONDS = 5e-4  # a reading is at least this long; shorter calls are repeated within it
NO_TIME = "the {} read a time that is not positive; leave the clock alone"
ROUNDS = ((0.02, 20), (0.2, 10), (math.inf, 5))  # (longest reading in seconds, rounds of a pair)


@dataclass
class PairedCase:
    """A case on both sides. `verdict` is None while the case may be timed; else `reason` says why not.

    A reading is `inner` calls, the same number on both sides. `verified` and `verified_again`: its contract
    was checked before sampling, and after it.
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
    def compiled(self) -> bool:
        return all(state.compiled for state in self.sides.values())

    @property
    def same_program(self) -> bool:
        """Whether both sides run the same compiled program and nothing else.

        An equal trace of eager calls is not enough: the Python between them takes time, too.
        """
        candidate, base = self.candidate, self.base
        return (
            all(traits_of(side.info.framework).compiles_calls for side in (candidate, base))
            and candidate.plan.static.program is not None
            and candidate.plan.static.program == base.plan.static.program
        )

    @property
    def reading_s(self) -> float:
        return max(state.call.seconds for state in self.sides.values()) * self.inner

    @property
    def rounds(self) -> int:
        """Rounds of one pair of processes."""
        return next(rounds for most, rounds in ROUNDS if self.reading_s <= most)

    @property
    def cost_s(self) -> float:
        """Estimated seconds of the case's rounds in one pair, with the warm-up as one more round."""
        calls = sum(state.call.seconds for state in self.sides.values()) * self.inner
        return calls * READINGS * (self.rounds + 1)

    def set_inner(self) -> None:
        """Set the calls per reading from the verified calls' times, which must be positive."""
        for side, state in self.sides.items():
            if not 0 < state.call.seconds < math.inf:
                self.settle(INVALID, NO_TIME.format(side))
                return
        fastest = min(state.call.seconds for state in self.sides.values())
        self.inner = max(1, math.ceil(READING_SECONDS / max(fastest, 1e-7)))

    def settle(self, verdict: str, reason: str) -> None:
        """Decide the case without a time, unless it is decided already; both sides let go of it."""
        if self.verdict is None:
            self.verdict, self.reason = verdict, reason
        for state in self.sides.values():
            state.end()

    def resolve(self) -> None:
        """Settle the case if a side cannot be timed. A base that fails is not held against the candidate."""
        candidate, base = self.candidate, self.base
        if candidate.status == "ok":  # an expected failure that passed
            self.settle(INCORRECT, candidate.reason or "")
        elif candidate.status is not None:
            self.settle(*_verdict_on_failure(candidate, base))
        elif base.status is not None:
            why = base.reason or "its contract passed, against what it says of itself"
            self.settle(NEW, f"the base's is {base.status} ({why}): nothing to compare with")


def _verdict_on_failure(candidate: CaseState, base: CaseState) -> tuple[str, str]:
    """(verdict, reason) for a case whose candidate cannot be timed."""
    reason = candidate.reason or ""
    if candidate.status == "incorrect" and not candidate.plan.expected:
        return INCORRECT, reason
    if candidate.status == "skipped":
        return NOT_ENOUGH, reason
    if candidate.status == base.status and not candidate.plan.expected:
        return LEFT_OUT, f"on both sides {candidate.status}: {reason}"
    if candidate.status not in {"incorrect", "unsupported", "oom"}:
        return INVALID, f"the candidate's is {candidate.status}: {reason}"
    # Against another implementation (`impl:NAME`), a case that the candidate cannot run is no regression.
    another = candidate.case.implementation != base.case.implementation
    if another or base.status is not None:
        return LEFT_OUT, reason
    if candidate.status == "oom":
        return REGRESSED, f"the base fits, the candidate does not: {reason}"
    did = "runs it, the candidate refuses" if candidate.status == "unsupported" else "is correct"
    return VANISHED, f"the base {did}: {reason}"
