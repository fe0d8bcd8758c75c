"""Interleaved sampling of one pair: in each round both sides have a turn at every case, in random order."""

import math
import random
import secrets
import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from harness.gate.outcome import INVALID
from harness.gate.timed.decision import Rounds
from harness.gate.timed.paired_case import BASE, BOTH, CANDIDATE, READINGS, GateContext, PairedCase
from harness.run.group.profiling import name_kernels
from harness.run.group.sampling import settle_memoized

WARM_BATCHES = 5  # at most, until the smallest reading no longer falls
SETTLED = 0.97  # of the smallest reading so far: a batch above it no longer falls
TENTHS = 10  # the slowest tenth needs as many readings: of fewer, a 90th percentile is an extrapolation
WARM_SECONDS = 0.01  # of a reading; longer ones are warm after one batch


Turns: TypeAlias = tuple[str, str]  # (case, side)
Readings: TypeAlias = dict[Turns, list[list[float]]]  # seconds per call, by turn


class PairSampler:
    """Samples the cases of one pair, the sides interleaved in random order."""

    def __init__(self, shared: GateContext, number: int, order: random.Random) -> None:
        self.shared, self.number, self.random = shared, number, order

    def sample(self, paired_cases: Sequence[PairedCase]) -> list[Rounds]:
        readings: Readings = defaultdict(list)
        for paired in paired_cases:
            self._warm_up(paired)
        checked = {
            paired.id: secrets.randbelow(paired.rounds)
            for paired in paired_cases
            if not (paired.verified_again or paired.candidate.call.is_verified_once)
        }
        for round_ in range(max((paired.rounds for paired in paired_cases), default=0)):
            for paired in paired_cases:
                if paired.unsettled and round_ < paired.rounds:
                    self._round(paired, readings)
                if paired.unsettled and round_ == checked.get(paired.id):
                    self._check_timed_call(paired, "fresh0")
        for paired in paired_cases:
            if paired.unsettled and not paired.verified_again:
                self._verify_again(paired, readings)
        timed = [paired for paired in paired_cases if paired.unsettled]
        all_rounds = [
            _summarise(self.number, paired.id, readings[paired.id, CANDIDATE], readings[paired.id, BASE])
            for paired in timed
        ]
        for paired, rounds in zip(timed, all_rounds, strict=True):
            for side, level_s in zip(BOTH, rounds.levels_s, strict=True):
                state = paired.sides[side]
                state.call = replace(state.call, seconds=level_s)
        return all_rounds

    def _round(self, paired: PairedCase, readings: Readings) -> None:
        # The second side finds the caches as the first left them, so the order is random in every round.
        for side in self.random.sample(BOTH, len(BOTH)):
            readings[paired.id, side].append(self._turn(paired, side))

    def _warm_up(self, paired: PairedCase) -> None:
        """Sample a case on both sides until its smallest reading no longer falls."""
        smallest = dict.fromkeys(BOTH, math.inf)
        for _ in range(WARM_BATCHES):
            latest = {side: min(self._turn(paired, side, warm=True), default=0.0) for side in BOTH}
            settled = all(latest[side] >= SETTLED * smallest[side] for side in BOTH)
            if not paired.unsettled or settled or paired.reading_s > WARM_SECONDS:
                break
            smallest = {side: min(smallest[side], latest[side]) for side in BOTH}

    def _turn(self, paired: PairedCase, side: str, *, warm: bool = False) -> list[float]:
        """One turn's readings, in seconds per call; none when it settled the case."""
        state = paired.sides[side]
        if not paired.unsettled:
            return []
        # No untimed call first: the minimum of the readings counts, which is not the cold one.
        asked = {"readings": READINGS, "inner": paired.inner, "warm": False}
        answer = paired.context.ask(state, "turns", "sample", **asked)
        self.shared.check_process(paired, state)
        if answer is None:
            paired.resolve()
            return []
        if answer["compiled"] and not warm:
            paired.settle(
                INVALID, f"the {side} compiles in timed code; keep shapes and static arguments fixed"
            )
        return answer["samples_s"]

    def _verify_again(self, paired: PairedCase, readings: Readings) -> None:
        """Verify a last call of both sides under the clock, and that neither memoizes its answers."""
        self._check_timed_call(paired, "fresh1")
        verifier = self.shared.verifier(paired.context)
        for side, state in paired.sides.items():
            if state.unsettled:
                sampled_s = statistics.median(map(min, readings[paired.id, side]))
                settle_memoized(paired.context, verifier, state, sampled_s)
            if state.unsettled:
                name_kernels(paired.context, state)
            self.shared.check_process(paired, state)
        paired.verified_again = True
        paired.resolve()

    def _check_timed_call(self, paired: PairedCase, name: str) -> None:
        verifier = self.shared.verifier(paired.context)
        for state in paired.sides.values():
            if paired.unsettled and state.unsettled:
                verifier.check_timed_call(state, name, 1 if state.call.is_long else READINGS)
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
