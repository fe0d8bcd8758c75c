"""Verification, on the runner's side: a reference worker draws the inputs and checks the results.

A case whose contract has not passed is never timed, and a time whose answers were not verified is not kept:
between and after its samples a case is called, under the clock, on values that no call has seen.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, NamedTuple, TypeAlias

from harness.catalog.catalog import ImplementationInfo
from harness.core.errors import Unsupported
from harness.core.grouped import grouped
from harness.core.record import Checked, Correctness
from harness.run.group.case_state import CaseState
from harness.run.group.group_context import SETS, GroupContext
from harness.run.group.input_files import InputFiles
from harness.run.processes.executor import Ended, Worker

FIRST = "set0"  # the inputs of a case's first call
SEED_BITS = 63

AskForResult: TypeAlias = Callable[[str], Mapping[str, Any] | None]
Verdict: TypeAlias = tuple[Mapping[str, Any] | None, str | None]  # a worker's answer, and why it failed


class Home(NamedTuple):
    """The module that holds references, and the framework of the process that loads it."""

    module: str
    framework: str


class Verifier:
    """Verifies a group's cases against their contracts. Its own failure does not judge implementations."""

    def __init__(self, context: GroupContext) -> None:
        self.context = context
        self.sets = 0 if context.run.depth == "check" else SETS  # of inputs that samples rotate over
        self.references: dict[Home, Worker | None] = {}  # None where one has died
        self.seeds: dict[str, int] = {}  # of the inputs drawn while the group is timed, by their names
        self.drawn: set[tuple[Home, str, str]] = set()  # by whom, which of them, for which semantics
        self.files = InputFiles(context.folder)
        self.results = 0

    def open(self) -> None:
        """Draw the inputs and compute the reference of every semantics; without them nothing may run."""
        context = self.context
        first = context.living()[0]
        family = context.run.catalog.family(first.case.family)
        context.run.listener.case_state(first.id, "inputs and reference")
        try:
            self._open_reference(Home(family.module, family.reference_framework), first, write=True)
        except (Unsupported, Ended) as end:
            self._settle_unverified(context.living(), f"the inputs of family {family.name}", end)
            return
        judged_together = grouped(context.living(), lambda s: (self._home(s), s.info.semantics))
        for (home, semantics), states in judged_together.items():
            try:
                if home not in self.references:
                    self._open_reference(home, states[0], write=False)
                promise = self._info(states[0]).promise
                more = {} if promise is None else {"promise": asdict(promise)}
                self._ask(home, "contract", "reference", semantics=semantics, sets=self.sets, **more)
            except (Unsupported, Ended) as end:
                what = f"the reference {semantics} of family {family.name}"
                self._settle_unverified(states, f"{what}{_brought_by(states[0])}", end)
        self.files.note()

    def _open_reference(self, home: Home, state: CaseState, *, write: bool) -> None:
        """Start a process for the references of a module; another one may have written the inputs."""
        self.references[home] = None
        with self.context.spending("startup"):
            self.references[home] = self.context.spawn("reference", home.framework, state, home.module)
        # One more than samples rotate over: the first set's answers, which were judged, are never timed.
        self._ask(home, "inputs", "inputs", sets=self.sets + 1, write=write)

    def draw_fresh(self, name: str, state: CaseState) -> None:
        """Draw inputs that no call has seen, from a seed that nobody could know, and the case's reference.

        Raises Ended and Unsupported as a worker's `ask`.
        """
        home, semantics = self._home(state), state.info.semantics
        if (home, name, semantics) in self.drawn:
            return
        seed = self.seeds.setdefault(name, secrets.randbits(SEED_BITS))
        write = all(name != drawn for _, drawn, _ in self.drawn)
        self._ask(home, "contract", "fresh", name=name, seed=seed, semantics=semantics, write=write)
        self.drawn.add((home, name, semantics))
        self.files.note()

    def _home(self, state: CaseState) -> Home:
        """Where the reference of a case is; in a gate that of the candidate, for both sides.

        A module whose own code says what is right gets a process of its own, so that importing it affects no
        verdict on its neighbours. Where all that it brings is numbers nobody loads it to judge by them.
        """
        info = self._info(state)
        if info.bounds and info.promise is None:
            return Home(info.module, info.reference_framework)
        family = self.context.run.catalog.family(state.case.family)
        return Home(family.module, family.reference_framework)

    def _info(self, state: CaseState) -> ImplementationInfo:
        """The description whose contract holds for a case: in a gate that of the candidate."""
        return self.context.run.catalog.implementations.get(state.case.implementation, state.info)

    def check(self, state: CaseState) -> None:
        """Call the case once and verify its answer by its contract; only then may it be timed."""
        context = self.context
        context.run.listener.case_state(state.id, "contract")

        def ask(result: str) -> Mapping[str, Any] | None:
            return context.ask(state, "contract", "check", cotangent=_cotangent(state), result=result)

        answer, reason = self.judge_call(state, FIRST, ask)
        if answer is None:
            return
        spent = context.run.spent  # the first calls are no judging: whoever measures makes them
        spent["contract"] -= answer["warmup_s"]
        spent["warmup"] += answer["warmup_s"]
        state.call_s, state.high_water_bytes = answer["seconds"], answer["high_water_bytes"]
        state.recompiled = answer["recompiled"]
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

    def check_under_clock(
        self, state: CaseState, name: str, readings: int, *, warm: bool
    ) -> Mapping[str, Any] | None:
        """Readings of a call on fresh inputs, whose answer is judged, and of one on inputs that it has seen.

        None when that settled the case. It is asked for as any turn is, so nothing but the values tells the
        call that it will be judged.
        """
        context = self.context
        try:
            self.draw_fresh(name, state)
        except (Unsupported, Ended) as end:
            self._settle_unverified([state], "the reference on fresh inputs", end)
            return None
        context.run.listener.case_state(state.id, "check under the clock")
        backward = state.case.mode != "fwd"
        cotangent = f"{name}-{state.info.semantics}" if backward else None

        def ask(result: str) -> Mapping[str, Any] | None:
            fresh = {"inputs": name, "cotangent": cotangent, "result": result}
            return context.ask(
                state, "contract", "sample", readings=readings, inner=1, warm=warm, fresh=fresh
            )

        answer, reason = self.judge_call(state, name, ask)
        context.watch_cores(state)
        if reason:
            why = "its answer depends on earlier calls: it passed before the clock and failed under it"
            context.settle(state, "incorrect", f"{why}, on values that no call had seen ({reason})")
        return answer if state.living else None

    def judge_call(self, state: CaseState, inputs: str, ask: AskForResult) -> Verdict:
        """Have a case called on `inputs`, and judge what it hands over under the name that it is given."""
        if not self._inputs_intact():
            return None, None
        self.results += 1
        result = f"result-{self.results}"
        answer = ask(result)
        if not self._inputs_intact(state) or answer is None:
            return None, None
        return answer, self._verdict(state, inputs, result)

    def _inputs_intact(self, called: CaseState | None = None) -> bool:
        """Whether all cases get what was drawn; else nothing more is measured on it, and who did it is named.

        Nobody is where the files have changed before the case was called.
        """
        if (path := self.files.changed()) is None:
            return True
        text = f"wrote into {path}, from which every implementation of its group gets its inputs"
        if called is not None:
            self.context.settle_broken_rule(called, "writes to no input of others", f"it {text}")
        for state in self.context.living():
            self.context.settle(state, "crashed", f"another process {text}")
        return False

    def close(self) -> None:
        for home in self.references:
            self._close_reference(home)

    def _close_reference(self, home: Home) -> None:
        if (reference := self.references.get(home)) is not None:
            reference.close()
        self.references[home] = None

    def _verdict(self, state: CaseState, inputs: str, result: str) -> str | None:
        """Why a result fails its contract, "" when it passes; None when it cannot be judged."""
        home, semantics = self._home(state), state.info.semantics
        try:
            verdict = self._ask(home, "contract", "judge", semantics=semantics, inputs=inputs, result=result)
        except (Unsupported, Ended) as end:
            state.correctness = None
            self._settle_unverified([state], "the verdict on its result", end)
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
