"""Verification, on the runner's side: calls a case, and checks its result against its contract.

A case is timed only after its contract has passed, and its times count only if it stays correct. So timed
calls on new input values, between and after its samples, are verified too.
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
        """Draw the inputs of these cases, and evaluate their references, unless that was done before."""
        for inputs in dict.fromkeys(self.context.inputs_of(state) for state in states if state.unsettled):
            if inputs not in self.by_inputs:
                self.by_inputs[inputs] = References(self.context, inputs)
                self.by_inputs[inputs].open()

    def kill(self) -> None:
        """Kill all reference workers; other threads may be waiting for them."""
        for references in list(self.by_inputs.values()):
            references.kill()

    def close(self) -> None:
        while self.by_inputs:
            self.by_inputs.popitem()[1].close()

    def references(self, state: CaseState) -> References:
        """The references that verify a case."""
        return self.by_inputs[self.context.inputs_of(state)]

    def check(self, state: CaseState) -> None:
        """Call the case once and verify its result against its contract, before it may be timed."""
        context = self.context
        context.run.listener.case_state(state.id, "contract")
        result = next(self.results)
        answer = context.ask(state, "contract", "check", cotangent=cotangent_of(state), result=result)
        if answer is None:
            return
        reason = self._verdict(state, FIRST, result)
        # The first calls would also be made without verification.
        context.reattribute(answer["warmup_s"], "contract", "warmup")
        state.call = from_plain(KnownCall, answer)
        if reason is None:
            return
        self._run_checks(state)
        if reason:
            why = f"{reason}; expected: {state.plan.expectation}" if state.plan.expected else reason
            context.settle(state, "incorrect", why)
        elif state.plan.expected:
            why = f"expected to be incorrect ({state.plan.expectation}), but passes its contract"
            context.settle(state, "ok", why)

    def _run_checks(self, state: CaseState) -> None:
        """Run the requested checks of the family; they are reported separately from the contract."""
        context = self.context
        only = context.run.checks_of(state.id)
        if only == []:
            return
        context.run.listener.case_state(state.id, "checks")
        answer = context.ask(state, "contract", "examine", only=only, cotangent=cotangent_of(state))
        if answer is not None:
            state.checks = tuple(Checked(**check) for check in answer["checks"])

    def check_timed_call(
        self, state: CaseState, name: str, samples: int, sampled_s: float | None = None
    ) -> Mapping[str, Any] | None:
        """Verify a timed call on new inputs; store its time with the time of repeated calls.

        The request looks like any turn with this number of samples, so only the values could reveal to the
        implementation that this call is verified. The further samples repeat the values, and follow at once,
        because the machine may be busier than before. `sampled_s` is the current time of a sampled call, None
        if it was not measured. Returns the worker's reply; None if that settled the case.
        """
        context = self.context
        try:
            self.references(state).draw_fresh(name, state)
        except (Unsupported, Ended) as end:
            self.references(state).settle_unverified([state], "the reference on new inputs", end)
            return None
        context.run.listener.case_state(state.id, "verify a timed call")
        # The third sample repeats the second one's values, which shows a cache of only the last result.
        warm, result = samples > 1 or not state.call.is_long, next(self.results)
        fresh = {"inputs": name, "cotangent": cotangent_of(state, name), "result": result}
        answer = context.ask(state, "contract", "sample", readings=samples, inner=1, warm=warm, fresh=fresh)
        reason = None if answer is None else self._verdict(state, name, result)
        context.check_cores(state)
        if reason:
            why = "its result depends on earlier calls: the first call passed, but a timed call failed"
            if state.setup.method == "cuda_graph":
                why = "its CUDA graph reuses values of the captured call: that passed, but a replay failed"
            context.settle(state, "incorrect", f"{why} on new input values ({reason})")
        if answer is None or not state.unsettled:
            return None
        first_s, *rest = answer["samples_s"]
        again_s = min(rest, default=None)
        state.samples.first_and_again.append(
            FirstAndAgain(first_s, again_s, sampled_s, answer["queued"] or 0.0)
        )
        return answer

    def _verdict(self, state: CaseState, inputs: str, result: str) -> str | None:
        """Why a result fails its contract, "" if it passes; None if it cannot be verified."""
        try:
            verdict = self.references(state).judge(state, inputs, result)
        except (Unsupported, Ended) as end:
            state.correctness = None
            self.references(state).settle_unverified([state], "the check of its result", end)
            return None
        correctness = Correctness(**verdict["correctness"])
        failed = verdict["reason"] or "its contract failed"
        if state.info.bounds:
            failed += f" (by the contract in {state.info.file}:{state.info.line})"
        reason = "" if correctness.passed else failed
        if verdict["changed"]:
            correctness = replace(correctness, passed=False)
            reason = f'it changes its input "{verdict["changed"]}", which the next call gets'
        if state.correctness is None or not correctness.passed:  # fewer rows may be verified now
            state.correctness = correctness
        return reason
