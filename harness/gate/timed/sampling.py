"""Interleaved sampling of one pair: in each round both sides have a turn at every case, in random order."""

import math
import random
import secrets
import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from harness.gate.case_evidence import Rounds
from harness.gate.outcome import INVALID
from harness.gate.timed.context import GateContext
from harness.gate.timed.decision import GROSS
from harness.gate.timed.paired_case import BASE, BOTH, CANDIDATE, READINGS, PairedCase
from harness.run.case.forged_clock import AUDIT_SECONDS, forged_reason, is_forged, is_forged_beside
from harness.run.group.name_kernels import name_kernels
from harness.run.group.sampling import audit_clock, settle_memoized

WARM_BATCHES = 5  # at most, until the smallest reading no longer falls
SETTLED = 0.97  # of the smallest reading so far: a batch above it no longer falls
FORGED_AGAIN = 2  # further checks that a suspected clock must fail before it is reported as forged
TENTHS = 10  # the slowest tenth needs as many readings: of fewer, a 90th percentile is an extrapolation
WARM_SECONDS = 0.01  # of a reading; longer ones are warm after one batch


Turns: TypeAlias = tuple[str, str]  # (case, side)
Readings: TypeAlias = dict[Turns, list[list[float]]]  # seconds per call, by turn


class PairSampler:
    """Samples the cases of one pair, the sides interleaved in random order."""

    def __init__(self, shared: GateContext, number: int, order: random.Random) -> None:
        self.shared, self.number, self.random = shared, number, order
        self.read: dict[Turns, list[float]] = defaultdict(list)  # per turn, the seconds of its readings
        self.hidden: dict[Turns, list[float]] = defaultdict(
            list
        )  # per turn, its wall seconds outside readings

    def sample(self, paired_cases: Sequence[PairedCase]) -> list[Rounds]:
        readings: Readings = defaultdict(list)
        rest = [paired for paired in paired_cases if not self._is_grossly_slower(paired, readings)]
        for paired in rest:
            self._warm_up(paired)
        checked = {
            paired.id: secrets.randbelow(paired.rounds)
            for paired in rest
            if not (paired.verified_again or paired.candidate.call.is_judged_once)
        }
        for round_ in range(max((paired.rounds for paired in rest), default=0)):
            for paired in rest:
                if paired.living and round_ < paired.rounds:
                    self._round(paired, readings, READINGS)
                if paired.living and round_ == checked.get(paired.id):
                    self._check_under_clock(paired, "fresh0", readings)
        for paired in paired_cases:
            if paired.living:
                self._check_clock(paired)
            if paired.living and not paired.verified_again:
                self._verify_again(paired, readings)
        timed = [paired for paired in paired_cases if paired.living]
        all_rounds = [
            _summarise(self.number, paired.id, readings[paired.id, CANDIDATE], readings[paired.id, BASE])
            for paired in timed
        ]
        for paired, rounds in zip(timed, all_rounds, strict=True):
            for side, level_s in zip(BOTH, rounds.levels_s, strict=True):
                state = paired.sides[side]
                state.call = replace(state.call, seconds=level_s)
        return all_rounds

    def _round(self, paired: PairedCase, readings: Readings, count: int) -> None:
        # The second side finds the caches as the first left them, so the order is random in every round.
        for side in self.random.sample(BOTH, len(BOTH)):
            readings[paired.id, side].append(self._turn(paired, side, count))

    def _is_grossly_slower(self, paired: PairedCase, readings: Readings) -> bool:
        """Whether a few cold readings show a candidate beyond twice the base's time in every round.

        Then they are its rounds. Otherwise they are discarded, and the case is sampled like any other.
        """
        for _ in range(paired.gross_rounds):
            self._round(paired, readings, 1)
        sides = zip(readings[paired.id, CANDIDATE], readings[paired.id, BASE], strict=True)
        if (
            paired.living
            and paired.gross_rounds
            and all(math.log(candidate[0] / base[0]) > GROSS for candidate, base in sides)
        ):
            return True
        self._forget(paired, readings)
        return False

    def _forget(self, paired: PairedCase, readings: Readings | None = None) -> None:
        for side in BOTH:
            for kept in (self.read, self.hidden, readings or {}):
                kept.pop((paired.id, side), None)

    def _warm_up(self, paired: PairedCase) -> None:
        """Sample a case on both sides until its smallest reading no longer falls."""
        smallest = dict.fromkeys(BOTH, math.inf)
        for _ in range(WARM_BATCHES):
            latest = {side: min(self._turn(paired, side, warm=True), default=0.0) for side in BOTH}
            settled = all(latest[side] >= SETTLED * smallest[side] for side in BOTH)
            if not paired.living or settled or paired.reading_s > WARM_SECONDS:
                break
            smallest = {side: min(smallest[side], latest[side]) for side in BOTH}
        self._forget(paired)  # leave the first, slower wake-up out of the clock check

    def _turn(
        self, paired: PairedCase, side: str, count: int = READINGS, *, warm: bool = False
    ) -> list[float]:
        """One turn's readings, in seconds per call; none when it settled the case."""
        state, clock, inner = paired.sides[side], self.shared.run.clock, paired.inner
        if not paired.living:
            return []
        start = clock()
        # No untimed call first: the minimum of the readings counts, which is not the cold one.
        answer = paired.context.ask(state, "turns", "sample", readings=count, inner=inner, warm=False)
        self.shared.check_process(paired, state)
        if answer is None:
            paired.resolve()
            return []
        samples = answer["samples_s"]
        self.read[paired.id, side].append(sum(samples) * inner)
        self.hidden[paired.id, side].append(clock() - start - sum(samples) * inner)
        if answer["compiled"] and not warm:
            paired.settle(
                INVALID, f"the {side} compiles in timed code; keep shapes and static arguments fixed"
            )
        return samples

    def _check_clock(self, paired: PairedCase) -> None:
        """Compare the readings of both sides with the runner's own clock.

        A difference must repeat in fresh turns of both sides: other load lengthens the turns of one side by
        chance, a forged clock does so every time.
        """
        forged = self._forged_side(paired)
        turns = len(self.hidden[paired.id, CANDIDATE])
        for _ in range(FORGED_AGAIN):
            if forged is None or not paired.living:
                break
            self._forget(paired)
            for side in BOTH * turns:
                self._turn(paired, side)
            again = self._forged_side(paired) if paired.living else None
            forged = again if again is not None and again[0] == forged[0] else None
        if forged is not None:
            side, read_s, hidden_s = forged
            paired.settle(INVALID, forged_reason(f"the {side}", read_s, hidden_s))
        for side in BOTH:
            self._audit_clock(paired, side)

    def _forged_side(self, paired: PairedCase) -> tuple[str, float, float] | None:
        """(side, seconds read, seconds hidden) of a side that the other's turns contradict, if any."""
        hidden = {side: statistics.median(self.hidden[paired.id, side]) for side in BOTH}
        for side, other in ((CANDIDATE, BASE), (BASE, CANDIDATE)):
            read_s = statistics.median(self.read[paired.id, side])
            if is_forged_beside(read_s, hidden[side], hidden[other]):
                return side, read_s, hidden[side]
        return None

    def _audit_clock(self, paired: PairedCase, side: str) -> None:
        """Compare a long reading of a side with the runner's own clock, without the other side."""
        state = paired.sides[side]
        long_turns = paired.reading_s * READINGS >= AUDIT_SECONDS  # `_forged_side` has audited those
        if not paired.living or paired.verified_again or long_turns or state.setup.method != "wall":
            return
        turns = audit_clock(paired.context, state, paired.reading_s / paired.inner)
        self.shared.check_process(paired, state)
        paired.resolve()
        if paired.living and is_forged(turns):
            turn = turns[-1]
            paired.settle(INVALID, forged_reason(f"the {side}", turn.read_s, turn.wall_s - turn.read_s))

    def _verify_again(self, paired: PairedCase, readings: Readings) -> None:
        """Verify a last call of both sides under the clock, and that neither memoizes its answers."""
        self._check_under_clock(paired, "fresh1", readings)
        verifier = self.shared.verifier(paired.context)
        for side, state in paired.sides.items():
            if state.living:
                sampled_s = statistics.median(map(min, readings[paired.id, side]))
                settle_memoized(paired.context, verifier, state, sampled_s)
            if state.living:
                name_kernels(paired.context, state)
            self.shared.check_process(paired, state)
        paired.verified_again = True
        paired.resolve()

    def _check_under_clock(self, paired: PairedCase, name: str, readings: Readings) -> None:
        verifier = self.shared.verifier(paired.context)
        for side, state in paired.sides.items():
            if paired.living and state.living:
                again_s = (
                    statistics.median(map(min, readings[paired.id, side])) if state.call.is_long else None
                )
                verifier.check_under_clock(state, name, again_s)
                self.shared.check_process(paired, state)
        paired.resolve()


def _summarise(
    pair: int, case: str, candidate: Sequence[Sequence[float]], base: Sequence[Sequence[float]]
) -> Rounds:
    # The minimum of a turn, because disturbances only add time. Over pairs of equal sides, effects by minima
    # spread by 0.7 to 1.0 %, by medians 1.4 to 1.8 %, by means 7 to 24 % (on a two-core virtual machine).
    candidate_s, base_s = [min(turn) for turn in candidate], [min(turn) for turn in base]
    return Rounds(
        pair=pair,
        case=case,
        log_ratios=tuple(math.log(c / b) for c, b in zip(candidate_s, base_s, strict=True)),
        levels_s=(statistics.median(candidate_s), statistics.median(base_s)),
        tail=math.log(_p90(candidate) / _p90(base)) if sum(map(len, candidate)) >= TENTHS else None,
    )


def _p90(turns: Sequence[Sequence[float]]) -> float:
    readings = [seconds for turn in turns for seconds in turn]
    return statistics.quantiles(readings, n=TENTHS)[-1]
