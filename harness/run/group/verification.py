"""Verification, on the runner's side: a case is called, and its result is held to its contract.

A case is timed only after its contract has passed, and its times count only if it stays correct: between and
after its samples it is called, under the same clock, on fresh values.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from harness.core.errors import Unsupported
from harness.core.plain_data import from_plain
from harness.core.record import Checked, Correctness
from harness.run.case.case_state import CaseState
from harness.run.case.samples import FirstAndAgain, KnownCall
from harness.run.group.group_context import GroupContext
from harness.run.group.references import References, cotangent_of
from harness.run.processes.executor import Ended

FIRST = "set0"  # the inputs of a case's first call


class Verifier:
    """Verifies a group's cases against their contracts."""

    def __init__(self, context: GroupContext) -> None:
        self.context = context
        self.by_inputs: dict[str, References] = {}
        self.results = (f"result-{number}" for number in count(1))  # names

    def open(self, states: Sequence[CaseState]) -> None:
        """Draw the inputs of these cases, and evaluate their references, unless that is done."""
        for inputs in dict.fromkeys(self.context.inputs_of(state) for state in states if state.living):
            if inputs not in self.by_inputs:
                self.by_inputs[inputs] = References(self.context, inputs)
                self.by_inputs[inputs].open()

    def kill(self) -> None:
        """Kill all reference workers, while other threads may wait for them."""
        for references in list(self.by_inputs.values()):
            references.kill()

    def close(self) -> None:
        while self.by_inputs:
            self.by_inputs.popitem()[1].close()

    def references(self, state: CaseState) -> References:
        """The references that judge a case."""
        return self.by_inputs[self.context.inputs_of(state)]

    def check(self, state: CaseState) -> None:
        """Call the case once and verify its result by its contract; only then may it be timed."""
        context = self.context
        context.run.listener.case_state(state.id, "contract")
        result = next(self.results)
        answer = context.ask(state, "contract", "check", cotangent=cotangent_of(state), result=result)
        if answer is None:
            return
        reason = self._verdict(state, FIRST, result)
        # The first calls would be made without verification, too.
        context.reattribute(answer["warmup_s"], "contract", "warmup")
        state.call = from_plain(KnownCall, answer)
        if reason is None:
            return
        self._run_checks(state)
        if reason:
            why = f"{reason}; expected: {state.plan.expectation}" if state.plan.expected else reason
            context.settle(state, "incorrect", why)
        elif state.plan.expected:
            why = f"expected to be incorrect ({state.plan.expectation}), but its contract passed"
            context.settle(state, "ok", why)

    def _run_checks(self, state: CaseState) -> None:
        """Run the requested checks of the family, whose results are reported beside the contract's."""
        context = self.context
        only = context.run.checks_of(state.id)
        if only == []:
            return
        context.run.listener.case_state(state.id, "checks")
        answer = context.ask(state, "contract", "examine", only=only, cotangent=cotangent_of(state))
        if answer is not None:
            state.checks = tuple(Checked(**check) for check in answer["checks"])

    def check_under_clock(
        self, state: CaseState, name: str, readings: int, sampled_s: float | None = None
    ) -> Mapping[str, Any] | None:
        """Verify a timed call on fresh inputs; note its time beside that of calls on values seen before.

        It is requested like any turn of so many readings, so only the values could tell the implementation
        that this call is verified. The further readings are of known values, and follow at once, because the
        machine may be busier than before. `sampled_s` is the present time of a sampled call, None where that
        has not been measured. Returns the worker's answer; None if that settled the case.
        """
        context = self.context
        try:
            self.references(state).draw_fresh(name, state)
        except (Unsupported, Ended) as end:
            self.references(state).settle_unverified([state], "the reference on fresh inputs", end)
            return None
        context.run.listener.case_state(state.id, "check under the clock")
        # The third reading repeats the second one's values: a cache of only the last answer shows there.
        warm, result = readings > 1 or not state.call.is_long, next(self.results)
        fresh = {"inputs": name, "cotangent": cotangent_of(state, name), "result": result}
        answer = context.ask(state, "contract", "sample", readings=readings, inner=1, warm=warm, fresh=fresh)
        reason = None if answer is None else self._verdict(state, name, result)
        context.check_cores(state)
        if reason:
            why = "its answer depends on earlier calls: it passed before the clock and failed under it"
            if state.setup.method == "cuda_graph":
                why = "its CUDA graph holds values of the captured call: the call passed and a replay failed"
            context.settle(state, "incorrect", f"{why}, on values that no call had seen ({reason})")
        if answer is None or not state.living:
            return None
        first_s, *rest = answer["samples_s"]
        again_s = min(rest, default=None)
        state.samples.first_and_again.append(
            FirstAndAgain(first_s, again_s, sampled_s, answer["queued"] or 0.0)
        )
        return answer

    def _verdict(self, state: CaseState, inputs: str, result: str) -> str | None:
        """Why a result fails its contract, "" if it passes; None if it cannot be judged."""
        try:
            verdict = self.references(state).judge(state, inputs, result)
        except (Unsupported, Ended) as end:
            state.correctness = None
            self.references(state).settle_unverified([state], "the verdict on its result", end)
            return None
        correctness = Correctness(**verdict["correctness"])
        failed = verdict["reason"] or "its contract failed"
        if state.info.bounds:
            failed += f" (judged by what {state.info.file}:{state.info.line} brings)"
        reason = "" if correctness.passed else failed
        if verdict["changed"]:
            correctness = replace(correctness, passed=False)
            reason = f'it changes its input "{verdict["changed"]}", which the next call gets'
        if state.correctness is None or not correctness.passed:  # fewer rows may be judged now
            state.correctness = correctness
        return reason
