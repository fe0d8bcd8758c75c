"""The largest length that fits each target (`--max-seq`), found by doubling and then bisection."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.core.case import Case
from harness.run.compile.request import CompileRequest, CompileResult
from harness.sweep.schedule import Group, Schedule

STEPS = 16  # candidate lengths between a power of two and the next
LONGEST = 1 << 30


class MaxSeqSearch:
    """The searches of all series: seeded with the results at the schedule's lengths, continued in rounds."""

    def __init__(self, schedule: Schedule, answers: Mapping[str, Mapping[str, CompileResult]]) -> None:
        self.schedule = schedule
        self.searches: dict[tuple[str, str], LengthSearch] = {}
        self.cases: dict[str, tuple[Case, Group]] = {}
        self.longest = _longest_of_models(schedule)
        for group in schedule.groups:
            for case in group.cases:
                self.cases.setdefault(case.series, (case, group))
                for name, answer in answers.get(case.id, {}).items():
                    self.record(CompileRequest(case, name), answer)

    def record(self, request: CompileRequest, answer: CompileResult) -> None:
        search = self.searches.setdefault(
            (request.case.series, request.target),
            LengthSearch(longest=self.longest.get(request.case.series, LONGEST)),
        )
        why = answer.reason or next(iter(answer.static.unavailable.values()), None)
        search.record(request.case.seq, fits=answer.static.fits, why=why)

    def next_requests(self) -> list[tuple[CompileRequest, Group]]:
        """The next length of every series that is still open."""
        requests: list[tuple[CompileRequest, Group]] = []
        for (series, name), search in self.searches.items():
            if (length := search.next_length()) is not None:
                case, group = self.cases[series]
                requests.append((CompileRequest(at_length(case, length), name), group))
        return requests

    def fits(self) -> list[dict[str, Any]]:
        """The results for run.json, one per suite, implementation and target, in the schedule's order.

        `seq` is the largest length that fits, `beyond` the smallest that does not. `reason` explains a None.
        """
        return [
            {
                "suite": suite.name,
                "implementation": case.label,
                "panel": case.panel,
                "target": name,
                "seq": search.seq,
                "beyond": search.beyond,
                "reason": search.reason,
            }
            for suite in self.schedule.suites
            for case in {case.series: case for case in suite.cases}.values()
            for (series, name), search in self.searches.items()
            if series == case.series
        ]


def _longest_of_models(schedule: Schedule) -> dict[str, int]:
    """The longest context of the models of each series, in the series' tokens; only series with a model."""
    longest: dict[str, int] = {}
    for suite in schedule.suites:
        series = {case.id: case.series for case in suite.cases}
        for model in suite.models:
            for case in model.cases:
                known = longest.get(series[case], 0)
                longest[series[case]] = max(known, model.longest // model.tokens)
    return longest


def at_length(case: Case, length: int) -> Case:
    """The same case at another length."""
    workload = tuple((name, length if name == "seq" else value) for name, value in case.workload)
    return dataclasses.replace(case, workload=workload)


@dataclass
class LengthSearch:
    """The bisection of one series: `record` takes a result; `next_length` is the next one to try, or None.

    `seq` is the largest length known to fit, `beyond` the smallest known not to fit; `reason` explains a
    None. Lengths between powers of two are multiples of a sixteenth of the lower power. The search ends at
    `longest`.
    """

    seq: int | None = None
    beyond: int | None = None
    reason: str | None = None
    refused: dict[int, str] = field(default_factory=dict[int, str])
    longest: int = LONGEST

    def record(self, length: int, *, fits: bool | None, why: str | None = None) -> None:
        if fits is None:
            self.refused[length] = why or "its plan is unavailable"
        elif fits:
            self.seq = max(length, self.seq or 0)
        else:
            self.beyond = min(length, self.beyond or length)

    def next_length(self) -> int | None:
        if self.reason:
            return None
        length = self._candidate_length()
        if length is None and self.seq is None:
            self.reason = next(iter(self.refused.values()), "no length fits")
        if length in self.refused:
            self.reason = self.refused[length]
            return None
        return length

    def _candidate_length(self) -> int | None:
        if self.seq is None:  # the next power of two below the smallest length that does not fit, down to 1
            return 1 << ((self.beyond - 1).bit_length() - 1) if self.beyond and self.beyond > 1 else None
        if self.beyond is None:
            return self._larger()
        if self.beyond <= self.seq:
            self.reason = f"{self.beyond} does not fit, though {self.seq} does"
            return None
        step = max(1, (1 << (self.seq.bit_length() - 1)) // STEPS)
        middle = (self.seq + self.beyond) // 2 // step * step
        return middle if self.seq < middle < self.beyond else None

    def _larger(self) -> int | None:
        seq = self.seq or 1
        if seq < self.longest:
            return min(1 << seq.bit_length(), self.longest)
        self.reason = f"{self.longest} tokens still fit"
        return None
