"""The largest length that fits each target, for every series of a schedule."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

from harness.run.compiling.ask import Answer, Ask
from harness.run.compiling.largest import Search
from harness.spec.case import Case
from harness.sweep.schedule import Group, Schedule


@dataclass(frozen=True)
class Fit:
    """`seq` is the largest length found to fit, `beyond` the smallest not to, `reason` why one is None.

    `panel` is all of a case but its implementation and length.
    """

    suite: str
    implementation: str
    panel: str
    target: str
    seq: int | None
    beyond: int | None
    reason: str | None


class Longest:
    """Begins with what the schedule's own lengths came to; then it asks in rounds, until none is open."""

    def __init__(self, schedule: Schedule, answers: Mapping[str, Mapping[str, Answer]]) -> None:
        self.schedule = schedule
        self.searches: dict[tuple[str, str], Search] = {}
        self.cases: dict[str, tuple[Case, Group]] = {}
        for group in schedule.groups:
            for case in group.cases:
                self.cases.setdefault(case.series, (case, group))
                for name, answer in answers.get(case.id, {}).items():
                    self.tell(Ask(case, name), answer)

    def tell(self, ask: Ask, answer: Answer) -> None:
        search = self.searches.setdefault((ask.case.series, ask.target), Search())
        why = answer.reason or next(iter(answer.static.unavailable.values()), None)
        search.tell(ask.case.seq, fits=answer.static.fits, why=why)

    def asks(self) -> list[tuple[Ask, Group]]:
        """The next length of every series that is still open."""
        found: list[tuple[Ask, Group]] = []
        for (series, name), search in self.searches.items():
            length = search.next()
            if length is not None:
                case, group = self.cases[series]
                found.append((Ask(_at(case, length), name), group))
        return found

    def found(self) -> list[Fit]:
        """One per suite, implementation and target, in the order of the schedule."""
        return [
            Fit(suite.name, case.label, _panel(case), name, search.seq, search.beyond, search.reason)
            for suite in self.schedule.suites
            for case in {case.series: case for case in suite.cases}.values()
            for (series, name), search in self.searches.items()
            if series == case.series
        ]


def _panel(case: Case) -> str:
    return case.series.removeprefix(f"{case.label}@")


def _at(case: Case, length: int) -> Case:
    workload = tuple((name, length if name == "seq" else value) for name, value in case.workload)
    return dataclasses.replace(case, workload=workload)
