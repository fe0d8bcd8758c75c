"""One pair of processes, one per side: every case is put in place on both, then has its rounds.

Both processes do the same things in the same order; what differs is whose code it is, which of them
was started first, and which has the first turn of a round.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event

from harness.core.errors import SideError, Unsupported
from harness.core.units import format_bytes, format_seconds
from harness.gate.outcome import INVALID, NOT_ENOUGH
from harness.gate.timed.context import GateContext
from harness.gate.timed.paired_case import BOTH, PairedCase
from harness.gate.timed.processes import SideProcess
from harness.gate.timed.sampling import PairSampler, Rounds
from harness.run.case_state import CaseState
from harness.run.compilation import compile_case
from harness.run.processes.executor import Ended
from harness.run.verification import SETS

PADDING_BYTES = 4096
SEATING, JUDGING = 0.15, 0.4  # of the budget may pass until the last new case is compiled, and judged
FIRST_LOOK_CALLS = 192  # of a slow case: 4 pairs, 5 rounds and a warm one, 4 readings, 2 sides

Choice = Callable[[Sequence[PairedCase]], Sequence[PairedCase]]


class Pair:
    """`play()` gives the rounds of the duels that had some, and those that have to wait for processes of
    their own: their memory, or the time that is left, did not allow them to join these.
    """

    def __init__(self, table: GateContext, number: int, choose: Choice) -> None:
        self.table, self.number, self.choose = table, number, choose
        self.random = random.Random(f"{table.settings.seed} pair {number}")

    def play(self, duels: Sequence[PairedCase]) -> tuple[list[Rounds], list[PairedCase]]:
        order = BOTH if self.number % 2 else tuple(reversed(BOTH))
        frameworks = sorted({half.info.framework for duel in duels for half in duel.halves.values()})
        tracing = not all(half.compiled for duel in duels for half in duel.halves.values())
        table = self.table
        self.started = table.context.clock()
        arms: dict[str, SideProcess] = {}
        try:
            for name in order:
                side, padding = table.sides[name], self.random.randrange(PADDING_BYTES)
                worker = table.opener.open(side, frameworks, table.settings, padding, tracing=tracing)
                arms[name] = SideProcess(side, worker)
            table.seats.arms = arms
            seated = self._seat(duels)
            joined, waiting = self._fitting([duel for duel in seated if duel.living])
            waiting += [duel for duel in duels if duel.living and duel not in seated]
            chosen = self.choose(self._correct(joined))
            waiting += [duel for duel in joined if duel.living and duel not in chosen]
            for duel in chosen:
                self._ready(duel)
            for arm in arms.values():
                self._release(arm)
            return PairSampler(table, self.random).play([duel for duel in chosen if duel.living]), waiting
        finally:
            for duel in duels:
                for half in duel.halves.values():
                    half.worker = None  # its process ends as a whole
            for arm in arms.values():
                arm.close()

    def _release(self, arm: SideProcess) -> None:
        try:
            arm.ask("release", self.table.settings.timeout_s)
        except Ended as end:  # between its cases: it is none's fault, and there is no going on
            text = f"a process of the {arm.side.name} ({arm.side.says}) cannot go on: {end.reason}"
            raise SideError(text) from None

    def _late(self, share: float) -> bool:
        """Whether this pair has taken more than a share of the gate's budget."""
        return self.table.context.clock() - self.started > share * self.table.budget_s

    def _seat(self, duels: Sequence[PairedCase]) -> list[PairedCase]:
        """Compile every case on both sides; the first time with its figures, which may decide it.

        When that has taken its share of the budget, new cases wait.
        """
        for duel in duels:
            duel.resolve()  # the judge of its group may have failed meanwhile
        known = [duel for duel in duels if duel.living and duel.candidate.compiled and duel.base.compiled]
        seated = list(known)
        for duel in duels:
            if seated and self._late(SEATING):
                break
            if duel.living and duel not in known:
                seated.append(duel)
                for half in duel.halves.values():
                    compile_case(duel.sitting, half)
                    self.table.look(duel, half)
                duel.resolve()
        self._seat_again(known)
        return [duel for duel in duels if duel in seated]

    def _seat_again(self, duels: Sequence[PairedCase]) -> None:
        """Compile what has been compiled before: its figures are known, and both sides do so at once."""
        for duel in duels:
            for half in duel.halves.values():
                self._take_seat(duel, half)
            duel.resolve()
        stopped = Event()

        def compile_all(side: str) -> PairedCase | None:
            """The duel, if any, at which this side's process ended."""
            for duel in duels:
                if stopped.is_set():
                    break
                duel.sitting.ask(duel.halves[side], "compile", "prepare", trace_s=0.0)
                if self.table.seats.arms[side].dead:
                    return duel
            return None

        with ThreadPoolExecutor(len(BOTH)) as both:
            try:
                ended = list(both.map(compile_all, BOTH))
            except BaseException:  # Ctrl-C need not wait for more than the case at hand
                stopped.set()
                raise
        for side, last in zip(BOTH, ended, strict=True):
            if last is not None:
                self.table.look(last, last.halves[side])
        for duel in duels:
            duel.resolve()

    def _take_seat(self, duel: PairedCase, half: CaseState) -> None:
        try:
            half.worker = duel.sitting.spawn("case", half.info.framework, half)
        except Unsupported as refusal:
            duel.sitting.settle(half, "unsupported", str(refusal))
        except Ended as end:
            duel.sitting.settle(half, end.status, end.reason)
        self.table.look(duel, half)

    def _fitting(self, duels: Sequence[PairedCase]) -> tuple[list[PairedCase], list[PairedCase]]:
        """(those whose memory fits together, on both sides; the rest)."""
        limit, planned = self.table.settings.memory_bytes, 0
        joined: list[PairedCase] = []
        waiting: list[PairedCase] = []
        for duel in duels:
            needs = sum(half.needs_bytes(SETS) for half in duel.halves.values())
            if needs > limit:
                duel.settle(
                    NOT_ENOUGH,
                    f"both sides together plan {format_bytes(needs)}; the limit is {format_bytes(limit)}: "
                    "raise --memory",
                )
            elif planned + needs > limit:
                waiting.append(duel)
            else:
                planned += needs
                joined.append(duel)
        return joined, waiting

    def _correct(self, duels: Sequence[PairedCase]) -> list[PairedCase]:
        """Those whose answers meet their contracts on both sides; judged once, before any clock is read.

        When judging has taken its share of the budget, the rest wait.
        """
        judged = [duel for duel in duels if duel.judged]
        for duel in duels:
            if duel.judged:
                continue
            if judged and self._late(JUDGING):
                break
            if self._too_long(duel):
                continue
            judge = self.table.judge(duel.sitting)
            for half in duel.halves.values():
                judge.check(half)
                self.table.look(duel, half)
            duel.judged = True
            duel.resolve()
            if duel.living:
                duel.set_inner()
            judged.append(duel)
            prediction = self.table.context.prediction
            prediction.note(duel.candidate.case, duel.candidate.call_s, duel.candidate.work)
        return [duel for duel in duels if duel in judged and duel.living]

    def _too_long(self, duel: PairedCase) -> bool:
        """Whether its shorter lengths already say that the first look at it is beyond the budget."""
        case, work = duel.candidate.case, duel.candidate.work
        predicted = self.table.context.prediction.call(case, work)
        if predicted is None or predicted.seconds * FIRST_LOOK_CALLS <= self.table.budget_s:
            return False
        call, whole = (
            format_seconds(seconds, 2)
            for seconds in (predicted.seconds, predicted.seconds * FIRST_LOOK_CALLS)
        )
        duel.settle(
            NOT_ENOUGH,
            f"predicted {call} a call (exponent {predicted.exponent:.2f}, from {predicted.basis}), "
            f"{whole} for the fewest pairs: raise --budget, or leave it out with --cases",
        )
        return True

    def _ready(self, duel: PairedCase) -> None:
        for half in duel.halves.values():
            cotangents = half.case.mode != "fwd"
            answer = self.table.ask(duel, half, "inputs", "ready", sets=SETS, cotangents=cotangents)
            half.method = answer["method"] if answer else half.method
        duel.resolve()
        if duel.living and duel.candidate.method != duel.base.method:
            mine, theirs = duel.candidate.method, duel.base.method
            duel.settle(INVALID, f"timed by {mine}, the base by {theirs}: different clocks are not compared")
