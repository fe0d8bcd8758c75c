"""A run: its groups one after the other, each written before the next begins."""

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.core.record import Record
from harness.core.static_figures import Static
from harness.run.case.compiled_plan import NOT_COMPILED
from harness.run.case.predict import KnownWork
from harness.run.group.group_context import GroupContext
from harness.run.group.group_run import GroupRun, Interrupted
from harness.run.group.records import new_record, target_of, was_compiled, was_cut_short
from harness.run.group.run_context import RunContext
from harness.run.overhead import RemainingTime, overhead
from harness.store.runs import RunFolder
from harness.sweep.schedule import Group, Schedule

Key = tuple[str, int]  # case id and replicate


@dataclass(frozen=True)
class RunOutcome:
    """`records` are the ones done before, then the new ones in the order of the schedule."""

    records: tuple[Record, ...]
    interrupted: bool
    overhead: Mapping[str, Any]


def run(
    schedule: Schedule,
    context: RunContext,
    sink: RunFolder,
    *,
    done: Sequence[Record] = (),
    fingerprint: Callable[[Group], str] | None = None,
    known_s: Mapping[str, float] | None = None,
) -> RunOutcome:
    """Measure all that is not `done`. `known_s` are wall seconds of cases in earlier runs, for estimates.

    At most the running group is lost: after Ctrl-C everything written stays, and the samples that the
    running group has so far are written too. So they are before a MachineError, which ends the run.
    """
    start = context.clock()
    records_kept = list(done)
    for record in done:
        _learn(context, record)
    todo = remaining_groups(schedule, done)
    position = len(schedule.groups) * schedule.replicates - len(todo)
    estimate = RemainingTime([group for group, _ in todo], known_s or {})
    interrupted = False
    try:
        if impossible := _impossible(schedule, context, done):
            sink.append(impossible)
            records_kept += impossible
        for index, (group, replicate) in enumerate(todo, start=position):
            if fingerprint:
                context.provenance = dataclasses.replace(context.provenance, fingerprint=fingerprint(group))
            ids = [case.id for case in group.cases]
            context.listener.group_started(index, group.key, ids, estimate.remaining())
            group_start = context.clock()
            records = GroupRun(GroupContext(group, context, replicate)).run()
            sink.append(records)
            records_kept += records
            estimate.took(context.clock() - group_start)
            context.listener.group_finished(records, estimate.remaining())
    except Interrupted as stop:
        interrupted = True
        sink.append(stop.records)
        records_kept += stop.records
        if stop.cause is not None:
            raise stop.cause from None
    except KeyboardInterrupt:
        interrupted = True
    return RunOutcome(tuple(records_kept), interrupted, overhead(context, context.clock() - start))


def remaining_groups(schedule: Schedule, done: Sequence[Record]) -> list[tuple[Group, int]]:
    """The groups, with their replicate, that are not measured or not measured to their end."""
    finished = {record.key[:2] for record in done if not was_cut_short(record)}
    return [
        (group, replicate)
        for group in schedule.groups
        for replicate in range(schedule.replicates)
        if not finished.issuperset(_keys(group, replicate))
    ]


def unfinished_keys(schedule: Schedule, done: Sequence[Record]) -> set[Key]:
    """Keys of stored records of groups that were cut short; these are measured again, so they must go."""
    again = {key for group, replicate in remaining_groups(schedule, done) for key in _keys(group, replicate)}
    return again & {record.key[:2] for record in done}


def _keys(group: Group, replicate: int) -> list[Key]:
    return [(case.id, replicate) for case in group.cases]


def _learn(context: RunContext, record: Record) -> None:
    """Let a resumed run predict from the records of the interrupted one."""
    case = record.as_case
    static = next(iter(record.static.values()), None)
    if record.timing is not None:
        context.prediction.note(case, record.timing.median_s, KnownWork.of(static, record.cost))
    elif record.status in {"oom", "timeout"} and not (static and static.fits is False):
        context.prediction.stop(case, record.status, compiling=not was_compiled(record))


def _impossible(schedule: Schedule, context: RunContext, done: Collection[Record]) -> list[Record]:
    """Records of the cases that the schedule already knows to be impossible, where not stored yet."""
    stored = {record.case for record in done}
    return [
        new_record(
            skip.case,
            schedule.implementations[skip.case.implementation],
            context.provenance,
            "unsupported",
            reason=skip.reason,
            static={target_of(skip.case): Static.none(NOT_COMPILED)},
        )
        for skip in schedule.skips
        if skip.case.id not in stored
    ]
