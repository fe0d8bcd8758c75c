"""A run: its groups one after the other, each written before the next begins."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from harness.catalog.catalog import Catalog
from harness.run.group import Context, GroupRun, Interrupted
from harness.run.member import Member
from harness.spec.case import Case
from harness.spec.record import Record
from harness.sweep.schedule import Group, Schedule

WORK = ("compile", "contract", "samples")


class Sink(Protocol):
    """Where records go: one call is one write."""

    def append(self, records: Sequence[Record]) -> None: ...


@dataclass(frozen=True)
class Outcome:
    """`records` in the order of the schedule, those of a resumed run included."""

    records: tuple[Record, ...]
    interrupted: bool
    overhead: Mapping[str, Any]


def run(
    schedule: Schedule,
    context: Context,
    sink: Sink,
    *,
    done: Sequence[Record] = (),
    fingerprint: Callable[[Group], str] | None = None,
    known_s: Mapping[str, float] | None = None,
) -> Outcome:
    """Measure what is not `done`. `known_s` are wall seconds of cases in earlier runs, for estimates.

    A group is the atom of loss: after Ctrl-C everything written stays, and what the running group
    has sampled so far is written too.
    """
    start = context.clock()
    kept = list(done)
    for record in done:
        _learn(context, record)
    todo = _todo(schedule, {record.key[:2] for record in done})
    clock = Estimate([group for group, _ in todo], known_s or {})
    interrupted = False
    try:
        if not any(record.key[0] in {skip.case.id for skip in schedule.skips} for record in done):
            kept += _append(sink, _skipped(schedule, context))
        for index, (group, replicate) in enumerate(todo):
            if fingerprint:
                context.stamp = dataclasses.replace(context.stamp, fingerprint=fingerprint(group))
            ids = [case.id for case in group.cases]
            context.listener.group_started(index, group.key, ids, clock.remaining(index))
            began = context.clock()
            records = GroupRun(group, context, replicate).run()
            kept += _append(sink, records)
            clock.took(index, context.clock() - began)
            context.listener.group_finished(records, clock.remaining(index + 1))
    except Interrupted as stop:
        interrupted = True
        kept += _append(sink, stop.records)
    except KeyboardInterrupt:
        interrupted = True
    return Outcome(tuple(kept), interrupted, overhead(context, context.clock() - start))


def _append(sink: Sink, records: Sequence[Record]) -> Sequence[Record]:
    if records:
        sink.append(records)
    return records


def _todo(schedule: Schedule, done: Collection[tuple[str, int]]) -> list[tuple[Group, int]]:
    return [
        (group, replicate)
        for group in schedule.groups
        for replicate in range(schedule.replicates)
        if not all((case.id, replicate) in done for case in group.cases)
    ]


def _learn(context: Context, record: Record) -> None:
    """Let a resumed run predict from what the interrupted one measured."""
    case = record.as_case
    if record.timing is not None:
        context.prediction.note(case, record.timing.median_s)
    planned = record.reason is not None and " plans " in record.reason
    if record.status in {"oom", "timeout"} and not planned:
        context.prediction.stop(case, record.status)


def _skipped(schedule: Schedule, context: Context) -> list[Record]:
    """Records of the cases that the schedule already knows to be impossible."""
    records = []
    for skip in schedule.skips:
        case: Case = skip.case
        member = Member(case, schedule.implementations[case.implementation], baseline=False, started="")
        member.settle("unsupported", skip.reason)
        records.append(member.record(context.stamp, "host" if case.device == "cpu" else case.device, 0))
    return records


class Estimate:
    """What remains, from earlier runs' wall times and from the groups of this one."""

    def __init__(self, groups: Sequence[Group], known_s: Mapping[str, float]) -> None:
        self.expected = [self._before(group, known_s) for group in groups]
        self.measured: dict[int, float] = {}

    @staticmethod
    def _before(group: Group, known_s: Mapping[str, float]) -> float | None:
        known = [known_s[case.id] for case in group.cases if case.id in known_s]
        return sum(known) * len(group.cases) / len(known) if known else None

    def took(self, index: int, seconds: float) -> None:
        self.measured[index] = seconds

    def remaining(self, index: int) -> float | None:
        """Seconds from the group `index` on; None while nothing is known."""
        known = [*self.measured.values(), *(e for e in self.expected if e is not None)]
        if not known:
            return None
        typical = statistics.fmean(known)
        return sum(typical if e is None else e for e in self.expected[index:])


def overhead(context: Context, wall_s: float) -> dict[str, Any]:
    """How much of the wall time was compiling, judging and sampling, and where the rest went."""
    spent = {name: round(max(0.0, seconds), 3) for name, seconds in sorted(context.spent.items())}
    work_s = sum(spent.get(name, 0.0) for name in WORK)
    spent["other"] = round(max(0.0, wall_s - sum(spent.values())), 3)
    startups = context.startups_s
    return {
        "wall_s": round(wall_s, 3),
        "work_s": round(work_s, 3),
        "share": work_s / wall_s if wall_s > 0 else None,
        **{f"{name}_s": seconds for name, seconds in spent.items()},
        "startup_per_case_s": statistics.median(startups) if startups else None,
    }


def lacks(
    done: Sequence[Record], schedule: Schedule, catalog: Catalog, fingerprints: Collection[str]
) -> str | None:
    """Why a stored run cannot be continued with this schedule; None when it can."""
    known = {case.id for suite in schedule.suites for case in suite.cases}
    strange = [record.case for record in done if record.case not in known]
    if strange:
        return f"it holds {strange[0]}, which the suites no longer have"
    for record in done:
        info = catalog.implementations.get(record.implementation)
        if info is None or info.hash != record.source:
            return f"the source of {record.implementation} has changed"
        if record.fingerprint not in fingerprints:
            return "this machine's fingerprint differs"
    return None
