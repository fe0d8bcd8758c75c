"""Interleaved sampling of one pair: each round samples every case on both sides, in random order."""

import math
import random
import secrets
import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from harness.gate.outcome import INVALID
from harness.gate.timed.decision import PairResult
from harness.gate.timed.paired_case import BASE, BOTH, CANDIDATE, SAMPLES, GateContext, PairedCase
from harness.run.group.profiling import name_kernels
from harness.run.group.sampling import settle_memoized

WARM_BATCHES = 5  # most warm-up batches; fewer if the smallest sample no longer falls
SETTLED = 0.97  # warm if a batch's smallest sample is above this share of the smallest so far
TENTHS = 10  # with fewer samples, a 90th percentile would be an extrapolation
WARM_SECONDS = 0.01  # cases with longer samples are warm after one batch


Turn: TypeAlias = tuple[str, str]  # (case, side)
Samples: TypeAlias = dict[Turn, list[list[float]]]  # seconds per call, by turn


class PairSampler:
    """Samples the cases of one pair, with both sides interleaved in random order."""

    def __init__(self, shared: GateContext, number: int, order: random.Random) -> None:
        self.shared, self.number, self.random = shared, number, order

    def sample(self, paired_cases: Sequence[PairedCase]) -> list[PairResult]:
        samples: Samples = defaultdict(list)
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
                    self._round(paired, samples)
                if paired.unsettled and round_ == checked.get(paired.id):
                    self._check_timed_call(paired, "fresh0")
        for paired in paired_cases:
            if paired.unsettled and not paired.verified_again:
                self._verify_again(paired, samples)
        timed = [paired for paired in paired_cases if paired.unsettled]
        results = [
            _summarise(self.number, paired.id, samples[paired.id, CANDIDATE], samples[paired.id, BASE])
            for paired in timed
        ]
        for paired, result in zip(timed, results, strict=True):
            for side, level_s in zip(BOTH, result.levels_s, strict=True):
                state = paired.sides[side]
                state.call = replace(state.call, seconds=level_s)
        return results

    def _round(self, paired: PairedCase, samples: Samples) -> None:
        # The first side changes the caches for the second, so the order is random in every round.
        for side in self.random.sample(BOTH, len(BOTH)):
            samples[paired.id, side].append(self._turn(paired, side))

    def _warm_up(self, paired: PairedCase) -> None:
        """Sample a case on both sides until its smallest sample no longer falls."""
        smallest = dict.fromkeys(BOTH, math.inf)
        for _ in range(WARM_BATCHES):
            latest = {side: min(self._turn(paired, side, warm=True), default=0.0) for side in BOTH}
            settled = all(latest[side] >= SETTLED * smallest[side] for side in BOTH)
            if not paired.unsettled or settled or paired.sample_s > WARM_SECONDS:
                break
            smallest = {side: min(smallest[side], latest[side]) for side in BOTH}

    def _turn(self, paired: PairedCase, side: str, *, warm: bool = False) -> list[float]:
        """Samples of one turn, in seconds per call; empty if the turn decided the case."""
        state = paired.sides[side]
        if not paired.unsettled:
            return []
        # Without a warm-up call: only the minimum of the samples counts, and a cold call is slower.
        arguments = {"readings": SAMPLES, "inner": paired.inner, "warm": False}
        answer = paired.context.ask(state, "turns", "sample", **arguments)
        self.shared.check_process(paired, state)
        if answer is None:
            paired.resolve()
            return []
        if answer["compiled"] and not warm:
            paired.settle(INVALID, f"the {side} compiles in timed code; use the same shapes in every call")
        return answer["samples_s"]

    def _verify_again(self, paired: PairedCase, samples: Samples) -> None:
        """Verify a last timed call of both sides, and that both do not memoize results."""
        self._check_timed_call(paired, "fresh1")
        verifier = self.shared.verifier(paired.context)
        for side, state in paired.sides.items():
            if state.unsettled:
                sampled_s = statistics.median(map(min, samples[paired.id, side]))
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
                verifier.check_timed_call(state, name, 1 if state.call.is_long else SAMPLES)
                self.shared.check_process(paired, state)
        paired.resolve()


def _summarise(
    pair: int, case: str, candidate: Sequence[Sequence[float]], base: Sequence[Sequence[float]]
) -> PairResult:
    # The minimum of a turn, because disturbances only add time. With the same code on both sides, effects
    # from minima spread by 0.7 to 1.0 %, medians 1.4 to 1.8 %, means 7 to 24 % (two-core virtual machine).
    candidate_s, base_s = [min(turn) for turn in candidate], [min(turn) for turn in base]
    return PairResult(
        pair=pair,
        case=case,
        log_ratios=tuple(math.log(c / b) for c, b in zip(candidate_s, base_s, strict=True)),
        levels_s=(statistics.median(candidate_s), statistics.median(base_s)),
        tail=math.log(_p90(candidate) / _p90(base)) if sum(map(len, candidate)) >= TENTHS else None,
    )


def _p90(turns: Sequence[Sequence[float]]) -> float:
    samples = [seconds for turn in turns for seconds in turn]
    return statistics.quantiles(samples, n=TENTHS)[-1]
