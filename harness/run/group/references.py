"""References of cases that share inputs: reference workers draw inputs, evaluate references, and verify."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from harness.catalog.catalog import ImplementationInfo
from harness.core.errors import Unsupported
from harness.core.grouped import grouped
from harness.core.record import UNJUDGED
from harness.core.remedy import BY_STATUS
from harness.run.case.case_state import CaseState
from harness.run.group.group_context import SETS, GroupContext
from harness.run.processes.executor import Ended, Worker

SEED_BITS = 63


class ReferenceModule(NamedTuple):
    """A module with references, and the framework of the process that loads it."""

    module: str
    framework: str


class References:
    """The reference workers for one set of inputs, one per module. If one fails, no case is incorrect."""

    def __init__(self, context: GroupContext, inputs: str) -> None:
        self.context, self.key = context, inputs
        self.sets = 0 if context.run.depth == "check" else SETS  # of inputs; samples rotate over them
        self.workers: dict[ReferenceModule, Worker | None] = {}  # None if it has died
        self.seeds: dict[str, int] = {}  # of inputs drawn while the group is timed, by name
        self.drawn: set[tuple[ReferenceModule, str, str]] = set()  # (module, name of the inputs, semantics)

    def unsettled(self) -> list[CaseState]:
        """The cases with these inputs that are not settled yet."""
        return [state for state in self.context.unsettled() if self.context.inputs_of(state) == self.key]

    def open(self) -> None:
        """Draw the inputs and evaluate the reference of every semantics; cases without one are settled."""
        context = self.context
        if not (unsettled := self.unsettled()):  # settled by concurrent compilation
            return
        first = unsettled[0]
        family = context.run.catalog.family(first.case.family)
        context.run.listener.case_state(first.id, "inputs and reference")
        home = ReferenceModule(family.module, family.reference_framework)
        try:
            self._open_reference(home, first, write=True)
        except (Unsupported, Ended) as end:
            self.settle_unverified(unsettled, f"the inputs of family {family.name}", end)
            return
        by_reference = grouped(self.unsettled(), lambda s: (self._home(s), s.info.semantics))
        for (home, semantics), states in by_reference.items():
            try:
                if home not in self.workers:
                    self._open_reference(home, states[0], write=False)
                promise = self._info(states[0]).promise
                more = {} if promise is None else {"promise": asdict(promise)}
                self._ask(home, "contract", "reference", semantics=semantics, sets=self.sets, **more)
            except (Unsupported, Ended) as end:
                what = f"the reference {semantics} of family {family.name}"
                self.settle_unverified(states, f"{what}{_defined_in(states[0])}", end)

    def _open_reference(self, home: ReferenceModule, state: CaseState, *, write: bool) -> None:
        """Start the worker of a module. With `write` it writes the inputs, which other workers only draw."""
        self.workers[home] = None
        with self.context.count_time("startup"):
            self.workers[home] = self.context.spawn("reference", home.framework, state, home.module)
        # One set more than samples rotate over: the first set, on which cases are verified, is never timed.
        self._ask(home, "inputs", "inputs", sets=self.sets + 1, write=write)

    def draw_fresh(self, name: str, state: CaseState) -> None:
        """Draw new inputs from an unpredictable seed, and evaluate the case's reference.

        Raises Ended and Unsupported, like a worker's `ask`.
        """
        home, semantics = self._home(state), state.info.semantics
        if (home, name, semantics) in self.drawn:
            return
        seed = self.seeds.setdefault(name, secrets.randbits(SEED_BITS))
        write = all(name != drawn for _, drawn, _ in self.drawn)
        self._ask(home, "contract", "fresh", name=name, seed=seed, semantics=semantics, write=write)
        self.drawn.add((home, name, semantics))

    def _home(self, state: CaseState) -> ReferenceModule:
        """The module of a case's reference; in a gate the candidate's module, for both sides.

        A module that defines its own reference or contract gets its own process, so that importing it does
        not affect other cases. A module whose bounds are only numbers is not loaded for verification.
        """
        info = self._info(state)
        if info.bounds and info.promise is None:
            return ReferenceModule(info.module, info.reference_framework)
        family = self.context.run.catalog.family(state.case.family)
        return ReferenceModule(family.module, family.reference_framework)

    def _info(self, state: CaseState) -> ImplementationInfo:
        """The description with the contract of a case: in a gate the candidate's."""
        return self.context.run.catalog.implementations.get(state.case.implementation, state.info)

    def judge(self, state: CaseState, inputs: str, result: str) -> Mapping[str, Any]:
        """Check a result of a case against its contract. Raises like a worker's `ask`."""
        semantics = state.info.semantics
        return self._ask(
            self._home(state), "contract", "judge", semantics=semantics, inputs=inputs, result=result
        )

    def kill(self) -> None:
        """Kill the reference workers; another thread may be waiting for one."""
        for reference in self.workers.values():
            if reference is not None:
                reference.kill()

    def close(self) -> None:
        for home in self.workers:
            self._close_reference(home)

    def _close_reference(self, home: ReferenceModule) -> None:
        if (reference := self.workers[home]) is not None:
            reference.close()
        self.workers[home] = None

    def _ask(self, home: ReferenceModule, activity: str, verb: str, **arguments: Any) -> Mapping[str, Any]:
        reference = self.workers.get(home)
        if reference is None:
            raise Ended("crashed", "the reference process of this group has died")
        with self.context.count_time(activity):
            try:
                return reference.ask(verb, self.context.settings.timeout_s, **arguments)
            except Ended as end:
                if not end.alive:
                    self._close_reference(home)
                raise

    def settle_unverified(self, states: Sequence[CaseState], what: str, end: Unsupported | Ended) -> None:
        """Settle cases that cannot be verified, as skipped if the reference ran out of memory or time.

        If a reference or contract by an implementation's author fails, the implementation counts as crashed.
        """
        for state in states:
            own = state.info.bounds and state.info.promise is None
            if own and isinstance(end, Ended) and end.status == UNJUDGED:
                end = Ended("crashed", end.reason, alive=True, output=end.output)
            if isinstance(end, Ended) and end.status in BY_STATUS:
                why = f"not run: {what} cannot be computed ({end.status}: {end})"
                self.context.settle(state, "skipped", why, end.remedy or BY_STATUS[end.status])
            else:
                self.context.settle_ended(state, end, f"{what} cannot be computed: {end}")


def _defined_in(state: CaseState) -> str:
    """` (defined in mine.py:7)` for semantics of the implementation's author; empty for the family's."""
    return f" (defined in {state.info.file}:{state.info.line})" if state.info.bounds else ""


def cotangent_of(state: CaseState, drawn: str = "cotangent") -> str | None:
    """The name of the cotangent drawn for a case's semantics; None in mode `fwd`."""
    return None if state.case.mode == "fwd" else f"{drawn}-{state.info.semantics}"
