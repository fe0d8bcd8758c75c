"""Correct first: the process beside a group that draws its inputs and judges its results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from harness.core.errors import Unsupported
from harness.core.record import Checked, Correctness
from harness.run.case_state import CaseState
from harness.run.group_context import GroupContext
from harness.run.processes.executor import Ended, Worker

SETS = 2  # sets of inputs that samples rotate over


class Verifier:
    """The desk of a group. When it fails, that says nothing about the implementations."""

    def __init__(self, sitting: GroupContext) -> None:
        self.sitting = sitting
        self.desk: Worker | None = None

    def open(self) -> None:
        """Draw the inputs and compute the reference of every semantics; without them nothing may run."""
        sitting = self.sitting
        first = sitting.living()[0]
        family = sitting.context.catalog.family(first.case.family)
        sitting.context.listener.case_state(first.id, "inputs and reference")
        try:
            with sitting.spending("startup"):
                self.desk = sitting.spawn("desk", family.desk, first)
            self._ask("inputs", "inputs", sets=SETS)
        except (Unsupported, Ended) as end:
            self._undecided(sitting.living(), f"the inputs of family {family.name}", end)
            return
        for semantics in dict.fromkeys(member.info.semantics for member in sitting.living()):
            concerned = [member for member in sitting.living() if member.info.semantics == semantics]
            try:
                self._ask("contract", "reference", semantics=semantics, sets=SETS)
            except (Unsupported, Ended) as end:
                self._undecided(concerned, f"the reference {semantics} of family {family.name}", end)

    def check(self, member: CaseState) -> None:
        """Call it once and hold the answer to its contract; only then may it be timed."""
        sitting = self.sitting
        sitting.context.listener.case_state(member.id, "contract")
        answer = sitting.ask(member, "contract", "check", cotangent=_cotangent(member))
        if answer is None:
            return
        member.call_s, member.high_water_bytes = answer["seconds"], answer["high_water_bytes"]
        member.recompiled = answer["recompiled"]
        reason = self._verdict(member, answer)
        if reason is None:
            return
        self._examine(member)
        if reason:
            why = f"{reason}; expected: {member.expectation}" if member.expected else reason
            sitting.settle(member, "incorrect", why)
        elif member.expected:
            why = f"expected to be incorrect ({member.expectation}), but its contract passed"
            sitting.settle(member, "ok", why)

    def _examine(self, member: CaseState) -> None:
        """Its family's checks, where any are asked for; they answer for themselves, beside the contract."""
        sitting = self.sitting
        only = sitting.context.checks_of(member.id)
        if only == []:
            return
        sitting.context.listener.case_state(member.id, "checks")
        answer = sitting.ask(member, "contract", "examine", only=only, cotangent=_cotangent(member))
        if answer is not None:
            member.checks = tuple(Checked(**one) for one in answer["checks"])

    def recheck(self, member: CaseState) -> None:
        """Judge a last call, on storage that held other values before."""
        if self.desk is None:
            member.warnings.append("its answer was not checked again after sampling: the judge had died")
            return
        self.sitting.context.listener.case_state(member.id, "check again")
        answer = self.sitting.ask(member, "contract", "recheck", cotangent=_cotangent(member))
        reason = self._verdict(member, answer) if answer else None
        if reason:
            why = "its answer depends on earlier calls: it passed before the clock and failed after"
            self.sitting.settle(member, "incorrect", f"{why} ({reason})")

    def close(self) -> None:
        if self.desk is not None:
            self.desk.close()
            self.desk = None

    def _verdict(self, member: CaseState, answer: Mapping[str, Any]) -> str | None:
        """Why a result fails its contract, "" when it holds; None when nothing can be said."""
        try:
            verdict = self._ask("contract", "judge", semantics=member.info.semantics, result=answer["result"])
        except (Unsupported, Ended) as end:
            member.correctness = None
            self._undecided([member], "the verdict on its result", end)
            return None
        correctness = Correctness(**verdict["correctness"])
        reason = "" if correctness.passed else verdict["reason"] or "its contract failed"
        if answer["changed"]:
            correctness = replace(correctness, passed=False)
            reason = f'it changes its input "{answer["changed"]}", which the next call gets'
        member.correctness = correctness
        return reason

    def _ask(self, activity: str, verb: str, **arguments: Any) -> Mapping[str, Any]:
        if self.desk is None:
            raise Ended("crashed", "the process that judges this group had died")
        with self.sitting.spending(activity):
            try:
                return self.desk.ask(verb, self.sitting.settings.timeout_s, **arguments)
            except Ended as end:
                if not end.alive:
                    self.close()
                raise

    def _undecided(self, members: Sequence[CaseState], what: str, end: Unsupported | Ended) -> None:
        """Nothing can be said of these members; the desk's own oom or timeout is none of theirs."""
        for member in members:
            if isinstance(end, Unsupported):
                self.sitting.settle(member, "unsupported", str(end))
            elif end.status == "crashed":
                self.sitting.settle(member, "crashed", f"{what} cannot be computed: {end.reason}")
            else:
                why = f"not run: {what} cannot be computed ({end.status}: {end.reason})"
                self.sitting.settle(member, "skipped", why)


def _cotangent(member: CaseState) -> str | None:
    return None if member.case.mode == "fwd" else f"cotangent-{member.info.semantics}"
