"""Verification, on the runner's side: a reference worker draws the inputs and checks the results.

A case whose contract has not passed is never timed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from harness.core.errors import Unsupported
from harness.core.record import Checked, Correctness
from harness.run.group.case_state import CaseState
from harness.run.group.group_context import SETS, GroupContext
from harness.run.processes.executor import Ended, Worker


class Home(NamedTuple):
    """The module that holds references, and the framework of the process that loads it."""

    module: str
    framework: str


class Verifier:
    """Verifies a group's cases against their contracts. Its own failure does not judge implementations."""

    def __init__(self, context: GroupContext) -> None:
        self.context = context
        self.references: dict[Home, Worker | None] = {}  # None where one has died

    def open(self) -> None:
        """Draw the inputs and compute the reference of every semantics; without them nothing may run."""
        context = self.context
        first = context.living()[0]
        family = context.run.catalog.family(first.case.family)
        context.run.listener.case_state(first.id, "inputs and reference")
        try:
            self._open_reference(Home(family.module, family.desk), first, sets=SETS)
        except (Unsupported, Ended) as end:
            self._settle_unverified(context.living(), f"the inputs of family {family.name}", end)
            return
        judged_together: dict[tuple[Home, str], list[CaseState]] = {}
        for state in context.living():
            judged_together.setdefault((self._home(state), state.info.semantics), []).append(state)
        for (home, semantics), states in judged_together.items():
            try:
                if home not in self.references:
                    self._open_reference(home, states[0], sets=0)
                self._ask(home, "contract", "reference", semantics=semantics, sets=SETS)
            except (Unsupported, Ended) as end:
                what = f"the reference {semantics} of family {family.name}"
                self._settle_unverified(states, f"{what}{_brought_by(states[0])}", end)

    def _open_reference(self, home: Home, state: CaseState, *, sets: int) -> None:
        """Start a process for the references of a module, and draw the inputs, or (with 0 sets) read them."""
        self.references[home] = None
        with self.context.spending("startup"):
            self.references[home] = self.context.spawn("reference", home.framework, state, home.module)
        self._ask(home, "inputs", "inputs", sets=sets)

    def _home(self, state: CaseState) -> Home:
        """Where the reference of a case is; in a gate that of the candidate, for both sides.

        A module that brings semantics gets a process of its own, so that importing it affects no verdict
        on its neighbours.
        """
        catalog = self.context.run.catalog
        info = catalog.implementations.get(state.case.implementation, state.info)
        if info.bounds:
            return Home(info.module, info.desk)
        family = catalog.family(state.case.family)
        return Home(family.module, family.desk)

    def check(self, state: CaseState) -> None:
        """Call the case once and verify its answer by its contract; only then may it be timed."""
        context = self.context
        context.run.listener.case_state(state.id, "contract")
        answer = context.ask(state, "contract", "check", cotangent=_cotangent(state))
        if answer is None:
            return
        state.call_s, state.high_water_bytes = answer["seconds"], answer["high_water_bytes"]
        state.recompiled = answer["recompiled"]
        reason = self._verdict(state, answer)
        if reason is None:
            return
        self._run_checks(state)
        if reason:
            why = f"{reason}; expected: {state.expectation}" if state.expected else reason
            context.settle(state, "incorrect", why)
        elif state.expected:
            why = f"expected to be incorrect ({state.expectation}), but its contract passed"
            context.settle(state, "ok", why)

    def _run_checks(self, state: CaseState) -> None:
        """Run the family's requested checks; their results are reported beside the contract's."""
        context = self.context
        only = context.run.checks_of(state.id)
        if only == []:
            return
        context.run.listener.case_state(state.id, "checks")
        answer = context.ask(state, "contract", "examine", only=only, cotangent=_cotangent(state))
        if answer is not None:
            state.checks = tuple(Checked(**check) for check in answer["checks"])

    def recheck(self, state: CaseState) -> None:
        """Verify a last call, on storage that held other values before, to detect remembered answers."""
        if self.references.get(self._home(state)) is None:
            state.warnings.append("its answer was not checked again after sampling: the judge had died")
            return
        self.context.run.listener.case_state(state.id, "check again")
        answer = self.context.ask(state, "contract", "recheck", cotangent=_cotangent(state))
        reason = self._verdict(state, answer) if answer else None
        if reason:
            why = "its answer depends on earlier calls: it passed before the clock and failed after"
            self.context.settle(state, "incorrect", f"{why} ({reason})")

    def close(self) -> None:
        for home in self.references:
            self._close_reference(home)

    def _close_reference(self, home: Home) -> None:
        if (reference := self.references.get(home)) is not None:
            reference.close()
        self.references[home] = None

    def _verdict(self, state: CaseState, answer: Mapping[str, Any]) -> str | None:
        """Why a result fails its contract, "" when it passes; None when it cannot be judged."""
        try:
            verdict = self._ask(
                self._home(state),
                "contract",
                "judge",
                semantics=state.info.semantics,
                result=answer["result"],
            )
        except (Unsupported, Ended) as end:
            state.correctness = None
            self._settle_unverified([state], "the verdict on its result", end)
            return None
        correctness = Correctness(**verdict["correctness"])
        failed = verdict["reason"] or "its contract failed"
        if state.info.bounds:
            failed += f" (judged by what {state.info.file}:{state.info.line} brings)"
        reason = "" if correctness.passed else failed
        if answer["changed"]:
            correctness = replace(correctness, passed=False)
            reason = f'it changes its input "{answer["changed"]}", which the next call gets'
        state.correctness = correctness
        return reason

    def _ask(self, home: Home, activity: str, verb: str, **arguments: Any) -> Mapping[str, Any]:
        reference = self.references.get(home)
        if reference is None:
            raise Ended("crashed", "the process that judges this group had died")
        with self.context.spending(activity):
            try:
                return reference.ask(verb, self.context.settings.timeout_s, **arguments)
            except Ended as end:
                if not end.alive:
                    self._close_reference(home)
                raise

    def _settle_unverified(self, states: Sequence[CaseState], what: str, end: Unsupported | Ended) -> None:
        """Settle cases that cannot be verified; the reference worker's oom or timeout makes them skipped."""
        for state in states:
            if isinstance(end, Unsupported):
                self.context.settle(state, "unsupported", str(end))
            elif end.status == "crashed":
                self.context.settle_ended(state, end, f"{what} cannot be computed: {end.reason}")
            else:
                why = f"not run: {what} cannot be computed ({end.status}: {end.reason})"
                self.context.settle(state, "skipped", why)


def _brought_by(state: CaseState) -> str:
    """`, which mine.py:7 brings,` of its author's own semantics; nothing of its family's."""
    return f", which {state.info.file}:{state.info.line} brings," if state.info.bounds else ""


def _cotangent(state: CaseState) -> str | None:
    return None if state.case.mode == "fwd" else f"cotangent-{state.info.semantics}"
