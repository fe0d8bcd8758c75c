"""One pair of processes, one per side: compiles, verifies and samples every case on both sides.

Both processes do the same work in the same order. They differ only in their code, in which one was started
first, and in which one is sampled first in a round.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from harness.core.clocks import is_one_clock
from harness.core.errors import SideError, Unsupported
from harness.core.units import format_bytes, format_seconds
from harness.gate.outcome import INVALID, NOT_ENOUGH
from harness.gate.timed.decision import PairResult
from harness.gate.timed.paired_case import BOTH, GateContext, PairedCase
from harness.gate.timed.processes import SideProcess
from harness.gate.timed.sampling import PairSampler
from harness.run.case.case_state import CaseState
from harness.run.group.compilation import compile_case, run_concurrently
from harness.run.group.group_context import SETS
from harness.run.machine.device_memory import DeviceMemory
from harness.run.processes.executor import Ended

PADDING_BYTES = 4096
COMPILE_SHARE = 0.15  # of the budget, after which a pair compiles no new case
VERIFY_SHARE = 0.4  # of the budget, after which a pair verifies no new case
FIRST_LOOK_CALLS = 192  # of a slow case: 4 pairs × (5 rounds + 1 warm-up) × 4 samples × 2 sides

Choice = Callable[[Sequence[PairedCase]], Sequence[PairedCase]]


class Pair:
    """One process per side, which compiles, verifies and samples the cases that fit in memory together.

    `run()` returns the results of the timed cases, and the cases that must wait for another pair because of
    memory or time.
    """

    def __init__(self, shared: GateContext, number: int, choose: Choice) -> None:
        self.shared, self.number, self.choose = shared, number, choose
        self.random = random.Random(f"{shared.settings.seed} pair {number}")

    def run(self, paired_cases: Sequence[PairedCase]) -> tuple[list[PairResult], list[PairedCase]]:
        order = BOTH if self.number % 2 else tuple(reversed(BOTH))
        frameworks = sorted(
            {state.info.framework for paired in paired_cases for state in paired.sides.values()}
        )
        tracing = not all(paired.compiled for paired in paired_cases)
        shared = self.shared
        self.started = shared.run.clock()
        processes: dict[str, SideProcess] = {}
        try:
            for name in order:
                # The environment's size shifts the stack and changes alignment (Mytkowicz et al., ASPLOS
                # 2009). A random size per process adds to the spread between pairs, but does not bias a side.
                side, padding = shared.sides[name], self.random.randrange(PADDING_BYTES)
                processes[name] = shared.executor.open(
                    side, frameworks, shared.settings, padding, tracing=tracing
                )
            shared.executor.processes = processes
            placed = self._compile(paired_cases)
            joined, waiting = self._split_by_memory([paired for paired in placed if paired.unsettled])
            waiting += [paired for paired in paired_cases if paired.unsettled and paired not in placed]
            chosen = self.choose(self._verify(joined))
            waiting += [paired for paired in joined if paired.unsettled and paired not in chosen]
            for paired in chosen:
                self._place_inputs(paired)
            # A pinned process could not move away from another process on its core (docs/decisions.md).
            for process in processes.values():
                self._release(process)
            sampler = PairSampler(shared, self.number, self.random)
            return sampler.sample([paired for paired in chosen if paired.unsettled]), waiting
        finally:
            for paired in paired_cases:
                for state in paired.sides.values():
                    state.worker = None  # cases are not closed one by one: their process ends below
            for process in processes.values():
                process.close()

    def _release(self, process: SideProcess) -> None:
        try:
            process.ask("release", self.shared.settings.timeout_s)
        except Ended as end:  # no case was running, so none can be excluded as the cause
            side = process.side
            text = f"a process of the {side.name} ({side.description}) failed: {end.reason}"
            raise SideError(text) from None

    def _over_share(self, share: float) -> bool:
        """Whether this pair has used more than this share of the gate's budget."""
        return self.shared.run.clock() - self.started > share * self.shared.budget_s

    def _compile(self, paired_cases: Sequence[PairedCase]) -> list[PairedCase]:
        """Compile every case on both sides, the first time with static figures, which may decide it.

        When compilation has used its share of the budget, new cases wait for the next pair.
        """
        for paired in paired_cases:
            paired.resolve()  # the reference worker of its group may have failed meanwhile
        known = [paired for paired in paired_cases if paired.unsettled and paired.compiled]
        placed = list(known)
        for paired in paired_cases:
            if placed and self._over_share(COMPILE_SHARE):
                break
            if paired.unsettled and paired not in known:
                placed.append(paired)
                for state in paired.sides.values():
                    compile_case(paired.context, state)
                    self.shared.check_process(paired, state)
                paired.resolve()
        self._compile_again(known)
        return [paired for paired in paired_cases if paired in placed]

    def _compile_again(self, paired_cases: Sequence[PairedCase]) -> None:
        """Compile cases with figures from an earlier pair, on both sides concurrently."""
        for paired in paired_cases:
            for state in paired.sides.values():
                self._hold(paired, state)
            paired.resolve()
        ended: dict[str, PairedCase] = {}  # case that ended its process, by side

        def compile_on(side: str, paired: PairedCase) -> None:
            if side not in ended:
                paired.context.ask(paired.sides[side], "compile", "prepare", trace_s=0.0)
                if self.shared.executor.processes[side].dead:
                    ended[side] = paired

        works = [map(partial(compile_on, side), paired_cases) for side in BOTH]
        run_concurrently(works, self._kill)
        for side in sorted(ended, key=BOTH.index):
            self.shared.check_process(ended[side], ended[side].sides[side])
        for paired in paired_cases:
            paired.resolve()

    def _kill(self) -> None:
        """Kill both sides' processes. Threads may wait for their replies."""
        for process in self.shared.executor.processes.values():
            process.kill()

    def _hold(self, paired: PairedCase, state: CaseState) -> None:
        try:
            state.worker = paired.context.spawn("case", state.info.framework, state)
        except (Unsupported, Ended) as end:
            paired.context.settle_ended(state, end)
        self.shared.check_process(paired, state)

    def _split_by_memory(
        self, paired_cases: Sequence[PairedCase]
    ) -> tuple[list[PairedCase], list[PairedCase]]:
        """(cases that fit in memory together on both sides, other cases)."""
        memory = self.shared.run.device_memory.get(self.shared.device, DeviceMemory())
        limit = memory.limit(self.shared.settings.memory_bytes)
        # Both sides' processes and the reference process have a context each.
        contexts = planned = (len(BOTH) + 1) * memory.process_bytes
        joined: list[PairedCase] = []
        waiting: list[PairedCase] = []
        for paired in paired_cases:
            needs = sum(state.plan.needs_bytes(SETS) for state in paired.sides.values())
            if contexts + needs > limit:
                both, most = format_bytes(contexts + needs), format_bytes(limit)
                paired.settle(
                    NOT_ENOUGH, f"both sides together plan {both}; the limit is {most}: raise --memory"
                )
            elif planned + needs > limit:
                waiting.append(paired)
            else:
                planned += needs
                joined.append(paired)
        return joined, waiting

    def _verify(self, paired_cases: Sequence[PairedCase]) -> list[PairedCase]:
        """Check results against their contracts, and return the cases that pass on both sides.

        When verification has used its share of the budget, other cases wait for the next pair.
        """
        verified = [paired for paired in paired_cases if paired.verified]
        for paired in paired_cases:
            if paired.verified:
                continue
            if verified and self._over_share(VERIFY_SHARE):
                break
            if self._refuse_too_long(paired):
                continue
            verifier = self.shared.verifier(paired.context)
            for state in paired.sides.values():
                verifier.check(state)
                self.shared.check_process(paired, state)
            paired.verified = True
            paired.resolve()
            if paired.unsettled:
                paired.set_inner()
            verified.append(paired)
            self.shared.run.predictor.record(paired.candidate.case, paired.candidate.call.seconds)
        return [paired for paired in paired_cases if paired in verified and paired.unsettled]

    def _refuse_too_long(self, paired: PairedCase) -> bool:
        """Decide a case if its first analysis, predicted from shorter lengths, exceeds the budget."""
        predicted = self.shared.run.predictor.predict(paired.candidate.case)
        whole_s = predicted.seconds * FIRST_LOOK_CALLS if predicted else 0.0
        if predicted is None or whole_s <= self.shared.budget_s:
            return False
        call, whole = format_seconds(predicted.seconds, 2), format_seconds(whole_s, 2)
        paired.settle(
            NOT_ENOUGH,
            f"predicted {call} per call (exponent {predicted.exponent:.2f}, from shorter lengths), "
            f"{whole} for the fewest pairs: raise --budget, or exclude it with --cases",
        )
        return True

    def _place_inputs(self, paired: PairedCase) -> None:
        for state in paired.sides.values():
            cotangents = state.case.mode != "fwd"
            answer = paired.context.ask(state, "inputs", "ready", sets=SETS, cotangents=cotangents)
            self.shared.check_process(paired, state)
            if answer is not None:
                state.setup = replace(state.setup, method=answer["method"])
        paired.resolve()
        candidate_clock, base_clock = paired.candidate.setup.method, paired.base.setup.method
        if paired.unsettled and not is_one_clock(candidate_clock, base_clock):
            paired.settle(
                INVALID,
                f"timed by {candidate_clock}, the base by {base_clock}: different clocks cannot be compared",
            )
