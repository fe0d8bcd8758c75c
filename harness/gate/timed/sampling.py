"""The rounds of one pair: the sides take turns at every case, in random order, until the rounds are full."""

from __future__ import annotations

import math
import random
import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from harness.core.units import format_seconds
from harness.gate.outcome import INVALID
from harness.gate.timed.context import GateContext
from harness.gate.timed.paired_case import BASE, BOTH, CANDIDATE, NO_TIME, READINGS, PairedCase

WARM_BATCHES = 5  # as many as it takes until the smallest reading no longer falls, and no more
SETTLED = 0.97
WARM_SECONDS = 0.01  # of a reading; what takes longer is warm after one batch
HIDDEN_SECONDS = 0.0015  # of a turn that collecting garbage may take on one side more than on the other


@dataclass(frozen=True)
class Rounds:
    """What one pair says of a case: the logarithm of candidate over base, per round.

    `levels_s` are the medians over rounds of both sides' values in seconds per call, candidate
    first; `tail` is the logarithm of the ratio of the 90th percentiles over all readings.
    """

    case: str
    log_ratios: tuple[float, ...]
    levels_s: tuple[float, float]
    tail: float

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


Turns = tuple[str, str]  # of a case, on a side


class PairSampler:
    """Reads the clock for cases that are in place on both sides."""

    def __init__(self, table: GateContext, order: random.Random) -> None:
        self.table, self.random = table, order
        self.read: dict[Turns, list[float]] = defaultdict(list)  # seconds of a turn's readings
        self.hidden: dict[Turns, list[float]] = defaultdict(list)  # and of the rest of it

    def play(self, duels: Sequence[PairedCase]) -> list[Rounds]:
        for duel in duels:
            self._warm(duel)
        readings: dict[tuple[str, str], list[list[float]]] = {}
        for round_ in range(max((duel.rounds for duel in duels), default=0)):
            for duel in duels:
                if duel.living and round_ < duel.rounds:
                    for side in self.random.sample(BOTH, len(BOTH)):
                        readings.setdefault((duel.id, side), []).append(self._turn(duel, side))
        for duel in duels:
            if duel.living:
                self._doubt_clock(duel)
            if duel.living and not duel.judged_again:
                self._judge_again(duel)
        played = [duel for duel in duels if duel.living]
        found = [_rounds(d.id, readings[d.id, CANDIDATE], readings[d.id, BASE]) for d in played]
        for duel, rounds in zip(played, found, strict=True):
            duel.candidate.call_s, duel.base.call_s = rounds.levels_s
        return found

    def _warm(self, duel: PairedCase) -> None:
        best = dict.fromkeys(BOTH, math.inf)
        for _ in range(WARM_BATCHES):
            latest = {side: min(self._turn(duel, side, warm=True), default=0.0) for side in BOTH}
            settled = all(latest[side] >= SETTLED * best[side] for side in BOTH)
            if not duel.living or settled or duel.reading_s > WARM_SECONDS:
                break
            best = {side: min(best[side], latest[side]) for side in BOTH}
        for side in BOTH:  # waking up for the first time is no rule
            self.read.pop((duel.id, side), None)
            self.hidden.pop((duel.id, side), None)

    def _turn(self, duel: PairedCase, side: str, *, warm: bool = False) -> list[float]:
        """One turn's readings, in seconds per call; none when that decided the duel."""
        half, clock, inner = duel.halves[side], self.table.context.clock, duel.inner
        if not duel.living:
            return []
        start = clock()
        answer = self.table.ask(duel, half, "turns", "sample", readings=READINGS, inner=inner, warm=False)
        if answer is None:
            duel.resolve()
            return []
        samples = answer["samples_s"]
        self.read[duel.id, side].append(sum(samples) * inner)
        self.hidden[duel.id, side].append(clock() - start - sum(samples) * inner)
        if not all(math.isfinite(seconds) and seconds > 0 for seconds in samples):
            duel.settle(INVALID, NO_TIME.format(side))
        elif answer["compiled"] and not warm:
            duel.settle(INVALID, f"the {side} compiles in timed code; keep shapes and static arguments fixed")
        return samples

    def _doubt_clock(self, duel: PairedCase) -> None:
        """Compare the readings with the runner's own clock: an implementation may forge its process's.

        What a turn takes beside its readings, messages and waking, is much the same on both sides.
        """
        hidden = {side: statistics.median(self.hidden[duel.id, side]) for side in BOTH}
        for side, other in ((CANDIDATE, BASE), (BASE, CANDIDATE)):
            read_s = statistics.median(self.read[duel.id, side])
            if hidden[side] > hidden[other] + max(hidden[other], HIDDEN_SECONDS) + read_s / 4:
                claimed, took = format_seconds(read_s), format_seconds(hidden[side] + read_s)
                why = f"the {side} read {claimed} where {took} passed here; leave time.perf_counter alone"
                duel.settle(INVALID, why)

    def _judge_again(self, duel: PairedCase) -> None:
        """Judge a last call, on storage that held other values before."""
        judge = self.table.judge(duel.sitting)
        for half in duel.halves.values():
            judge.recheck(half)
            self.table.look(duel, half)
        duel.judged_again = True
        duel.resolve()


def _rounds(case: str, candidate: Sequence[Sequence[float]], base: Sequence[Sequence[float]]) -> Rounds:
    mine, theirs = [min(turn) for turn in candidate], [min(turn) for turn in base]
    return Rounds(
        case=case,
        log_ratios=tuple(math.log(c / b) for c, b in zip(mine, theirs, strict=True)),
        levels_s=(statistics.median(mine), statistics.median(theirs)),
        tail=math.log(_p90(candidate) / _p90(base)),
    )


def _p90(turns: Sequence[Sequence[float]]) -> float:
    return statistics.quantiles([seconds for turn in turns for seconds in turn], n=10)[-1]
