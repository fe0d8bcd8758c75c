"""Verification, on the runner's side: a case is called, and its answer is held to its contract.

A case whose contract has not passed is never timed, and a time whose answers were not verified is not kept:
between and after its samples a case is called, under the clock, on values that no call has seen.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from harness.core.errors import Unsupported
from harness.core.plain_data import from_plain
from harness.core.record import Checked, Correctness
from harness.run.case.case_state import CaseState
from harness.run.case.memoization import FirstAndAgain
from harness.run.case.samples import KnownCall
from harness.run.group.group_context import GroupContext
from harness.run.group.references import References, cotangent_of
from harness.run.processes.executor import Ended

FIRST = "set0"  # the inputs of a case's first call

AskForResult: TypeAlias = Callable[[str], Mapping[str, Any] | None]
Verdict: TypeAlias = tuple[Mapping[str, Any] | None, str | None]  # a worker's answer, and why it failed


class Verifier:
    """Verifies a group's cases against their contracts."""

    def __init__(self, context: GroupContext) -> None:
        self.context = context
        self.by_inputs: dict[str, References] = {}
        self.results = 0

    def open(self, states: Sequence[CaseState]) -> None:
        """Draw the inputs of those that live, and compute what is right of them."""
        for inputs in dict.fromkeys(self.context.inputs_of(state) for state in states if state.living):
            self.by_inputs[inputs] = References(self.context, inputs)
            self.by_inputs[inputs].open()

    def close(self) -> None:
        while self.by_inputs:
            self.by_inputs.popitem()[1].close()

    def references(self, state: CaseState) -> References:
        """Those that judge a case."""
        return self.by_inputs[self.context.inputs_of(state)]

    def check(self, state: CaseState) -> None:
        """Call the case once and verify its answer by its contract; only then may it be timed."""
        context = self.context
        context.run.listener.case_state(state.id, "contract")

        def ask(result: str) -> Mapping[str, Any] | None:
            return context.ask(state, "contract", "check", cotangent=cotangent_of(state), result=result)

        answer, reason = self.judge_call(state, FIRST, ask)
        if answer is None:
            return
        # The first calls are no judging: whoever measures makes them.
        context.recount(answer["warmup_s"], "contract", "warmup")
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
        """Run the family's requested checks; their results are reported beside the contract's."""
        context = self.context
        only = context.run.checks_of(state.id)
        if only == []:
            return
        context.run.listener.case_state(state.id, "checks")
        answer = context.ask(state, "contract", "examine", only=only, cotangent=cotangent_of(state))
        if answer is not None:
            state.checks = tuple(Checked(**check) for check in answer["checks"])

    def check_under_clock(
        self, state: CaseState, name: str, again_s: float | None = None, sampled_s: float | None = None
    ) -> Mapping[str, Any] | None:
        """Have a call judged on fresh inputs, and note its time beside that of a call on inputs it has seen.

        It is asked for as any turn is, so nothing but the values tells the call that it will be judged.
        The other call follows at once, for the machine may be busier than before; `again_s` (seconds) spares
        it. `sampled_s` is what a call in ordinary turns takes now, None where that has not been looked at.
        What it answered; None if that settled it.
        """
        context = self.context
        try:
            self.references(state).draw_fresh(name, state)
        except (Unsupported, Ended) as end:
            self.references(state).settle_unverified([state], "the reference on fresh inputs", end)
            return None
        context.run.listener.case_state(state.id, "check under the clock")
        # The third is on the second's values: whoever remembers the last answer alone is fast there.
        readings = 3 if again_s is None else 1
        warm = again_s is None or not state.call.is_long

        def ask(result: str) -> Mapping[str, Any] | None:
            fresh = self.references(state).fresh(state, name, result)
            return context.ask(
                state, "contract", "sample", readings=readings, inner=1, warm=warm, fresh=fresh
            )

        answer, reason = self.judge_call(state, name, ask)
        context.watch_cores(state)
        if reason:
            why = "its answer depends on earlier calls: it passed before the clock and failed under it"
            context.settle(state, "incorrect", f"{why}, on values that no call had seen ({reason})")
        if answer is None or not state.living:
            return None
        first_s, *rest = answer["samples_s"]
        seen_s = min(rest) if again_s is None else again_s
        state.samples.first_and_again.append(FirstAndAgain(first_s, seen_s, sampled_s))
        return answer

    def judge_call(self, state: CaseState, inputs: str, ask: AskForResult) -> Verdict:
        """Have a case called on `inputs`, and judge what it hands over under the name that it is given."""
        if not self._inputs_intact(state):
            return None, None
        self.results += 1
        result = f"result-{self.results}"
        answer = ask(result)
        if not self._inputs_intact(state, called=True) or answer is None:
            return None, None
        return answer, self._verdict(state, inputs, result)

    def _inputs_intact(self, state: CaseState, *, called: bool = False) -> bool:
        """Whether the case may be judged; where inputs are not as drawn, nothing more is measured on them.

        All of the group's are looked at, for its processes can write to each. Who did it is named, and
        nobody is where the files have changed before the case was called.
        """
        for references in self.by_inputs.values():
            if not references.living() or (path := references.files.changed()) is None:
                continue
            inputs = f"{references.key}'s {path}" if self.context.group.several_inputs else path
            text = f"wrote into {inputs}, from which every implementation of its group gets its inputs"
            if called:
                self.context.settle_broken_rule(state, "writes to no input of others", f"it {text}")
            for other in references.living():
                self.context.settle(other, "crashed", f"another process {text}")
        return state.living

    def _verdict(self, state: CaseState, inputs: str, result: str) -> str | None:
        """Why a result fails its contract, "" when it passes; None when it cannot be judged."""
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
        if state.correctness is None or not correctness.passed:  # fresh inputs may be judged on fewer rows
            state.correctness = correctness
        return reason
