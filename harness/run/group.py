"""One group: compile every case, judge it, then sample all of them in shuffled rounds."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from harness.core.record import Record
from harness.core.units import format_bytes
from harness.run.case_state import CaseState
from harness.run.compilation import compile_case
from harness.run.group_context import GroupContext
from harness.run.run_context import DEPTHS, RunContext
from harness.run.sampling import leave, sample
from harness.run.verification import SETS, Verifier

__all__ = ["DEPTHS", "GroupRun", "Interrupted", "RunContext"]


class Interrupted(Exception):  # noqa: N818 - Ctrl-C with something to keep
    """The run was stopped while a group was being sampled; its records are worth keeping."""

    def __init__(self, records: list[Record]) -> None:
        super().__init__("interrupted")
        self.records = records


class GroupRun:
    """Measures one group once. `run()` returns its records, in the order of the sitting's members."""

    def __init__(self, sitting: GroupContext) -> None:
        self.depth = sitting.context.depth
        self.sitting = sitting
        self.judge = Verifier(sitting)

    def run(self) -> list[Record]:
        sitting = self.sitting
        try:
            self._prepare()
            if self.depth != "static" and sitting.living():
                self.judge.open()
                self._measure()
            for member in sitting.living():
                sitting.settle(member, "ok")
        except KeyboardInterrupt:
            if not any(member.readings for member in sitting.members):
                raise
            for member in sitting.living():
                member.cut_short()
            raise Interrupted(sitting.records()) from None
        finally:
            self.judge.close()
            sitting.close()
        return sitting.records()

    def _prepare(self) -> None:
        """In order; where two sides of a gate are members, both compile at once, on cores of their own."""
        lanes: dict[str | None, list[CaseState]] = {}
        for member in self.sitting.members:
            lanes.setdefault(member.side, []).append(member)

        def prepare_all(lane: Sequence[CaseState]) -> None:
            for member in lane:
                compile_case(self.sitting, member)

        if len(lanes) == 1:
            prepare_all(self.sitting.members)
            return
        with ThreadPoolExecutor(len(lanes)) as pool:
            list(pool.map(prepare_all, lanes.values()))

    def _measure(self) -> None:
        """All together when their plans fit together, else one after the other."""
        members, limit = self.sitting.living(), self.sitting.settings.memory_bytes
        planned = sum(member.needs_bytes(SETS) for member in members)
        if self.depth == "check" or len(members) == 1 or planned <= limit:
            self._judge_and_sample(members)
            return
        for member in members:
            member.warnings.append(
                f"measured alone: the group together plans {format_bytes(planned)}, "
                f"the limit is {format_bytes(limit)}"
            )
            self._judge_and_sample([member])

    def _judge_and_sample(self, members: Sequence[CaseState]) -> None:
        for member in members:
            self.judge.check(member)
            if self.depth == "check" and member.living:
                self.sitting.settle(member, "ok")  # what it holds is not needed any more
        if self.depth == "check":
            return
        correct = [member for member in members if member.living]
        sample(self.sitting, correct)
        for member in correct:
            if member.living:
                self.judge.recheck(member)
            if member.living:
                leave(self.sitting, member)
