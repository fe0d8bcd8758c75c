"""Runner: measures the groups of a run one after the other, and continues a stored run with --resume.

Each group's records are written before the next group starts.
"""

import dataclasses
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.core.errors import UsageError
from harness.core.fingerprint_identity import fingerprint_differences
from harness.core.plain_data import differences
from harness.core.record import Record
from harness.core.static_figures import Static
from harness.run.case.case_state import NOT_COMPILED
from harness.run.events import Listener
from harness.run.group.group_context import GroupContext
from harness.run.group.group_run import (
    GroupRun,
    Interrupted,
    new_record,
    target_of,
    was_cut_short,
)
from harness.run.group.run_context import Provenance, RunContext
from harness.store.find import all_runs
from harness.store.runs import RunFolder
from harness.sweep.schedule import Group, Schedule
from harness.sweep.settings import Settings

Key = tuple[str, int]  # case id and replicate
Fingerprints = Mapping[tuple[str, int], str]  # by device and number of threads


@dataclass(frozen=True)
class RunOutcome:
    """The outcome of a run; `groups` is the number of groups that it had to measure."""

    groups: int
    interrupted: bool
    overhead: Mapping[str, Any]


def run(
    schedule: Schedule,
    context: RunContext,
    sink: RunFolder,
    *,
    done: Iterable[Record] = (),
    fingerprints: Fingerprints | None = None,
) -> RunOutcome:
    """Measure all cases that are not `done`.

    A crash of the runner loses at most the current group. After Ctrl-C or a MachineError, the current
    group's samples are also written.
    """
    start = context.clock()
    finished = finished_keys(_predict_from(context, done))
    todo = remaining_groups(schedule, finished)
    position = len(schedule.groups) * schedule.replicates - len(todo)
    remaining_s, interrupted = None, False

    def provenance(device: str, settings: Settings) -> Provenance:
        named = (fingerprints or {}).get((device, settings.threads), context.provenance.fingerprint)
        return dataclasses.replace(context.provenance, fingerprint=named)

    try:
        if impossible := _records_of_skips(schedule, provenance, finished):
            sink.append(impossible)
        for index, (group, replicate) in enumerate(todo, start=position):
            context.provenance = provenance(group.cases[0].device, group.settings)
            ids = [case.id for case in group.cases]
            context.listener.group_started(index, group.key, ids, remaining_s)
            records = GroupRun(GroupContext(group, context, replicate)).run()
            sink.append(records)
            measured = index - position + 1
            remaining_s = (context.clock() - start) / measured * (len(todo) - measured)
            context.listener.group_finished(records, remaining_s)
    except Interrupted as stop:
        interrupted = True
        sink.append(stop.records)
        if stop.cause is not None:
            raise stop.cause from None
    except KeyboardInterrupt:
        interrupted = True
    return RunOutcome(len(todo), interrupted, overhead(context, context.clock() - start))


def finished_keys(records: Iterable[Record]) -> set[Key]:
    """Keys of the records that were not cut short by Ctrl-C."""
    return {record.key[:2] for record in records if not was_cut_short(record)}


def remaining_groups(schedule: Schedule, finished: Collection[Key]) -> list[tuple[Group, int]]:
    """The groups, with their replicate, that have a case without a finished record."""
    return [
        (group, replicate)
        for group in schedule.groups
        for replicate in range(schedule.replicates)
        if not all(key in finished for key in _keys(group, replicate))
    ]


def unfinished_keys(schedule: Schedule, records: Iterable[Record]) -> set[Key]:
    """Keys of the stored records of groups that are measured again, which must be removed."""
    finished = {record.key[:2]: not was_cut_short(record) for record in records}
    remaining = remaining_groups(schedule, {key for key, is_whole in finished.items() if is_whole})
    return {key for group, replicate in remaining for key in _keys(group, replicate)} & finished.keys()


def _keys(group: Group, replicate: int) -> list[Key]:
    return [(case.id, replicate) for case in group.cases]


def _predict_from(context: RunContext, done: Iterable[Record]) -> Iterator[Record]:
    """Feed the interrupted run's records to the predictor, and yield them."""
    for record in done:
        case, static = record.as_case, next(iter(record.static.values()), None)
        if record.timing is not None:
            context.predictor.record(case, record.timing.median_s)
        elif record.status in {"oom", "timeout"} and not (static and static.fits is False):
            compiling = static is not None and NOT_COMPILED in static.unavailable.values()
            context.predictor.record_failure(case, record.status, compiling=compiling)
        yield record


def _records_of_skips(
    schedule: Schedule, provenance: Callable[[str, Settings], Provenance], stored: Collection[Key]
) -> list[Record]:
    """Records of the cases that the schedule skips as unsupported, unless stored already."""
    return [
        new_record(
            skip.case,
            schedule.implementations[skip.case.implementation],
            provenance(skip.case.device, schedule.suites[0].settings),
            "unsupported",
            reason=skip.reason,
            remedy=skip.remedy,
            static={target_of(skip.case): Static.none(NOT_COMPILED)},
        )
        for skip in schedule.skips
        if (skip.case.id, 0) not in stored
    ]


CONTINUED = ("suites", "replicates", "extras", "sources")  # of run.json: equal in a run that is continued
SHOWN_CHARACTERS = 40  # of a value that differs; longer ones, as hashes, are not shown


def run_to_continue(
    results: Path, wanted: Mapping[str, Any], fingerprints: Sequence[Mapping[str, Any]]
) -> RunFolder:
    """The newest run of the same suites. UsageError if there is none, or if the request differs from it.

    `wanted` is the run.json that a new run would have.
    """
    folder = _newest_run(results, wanted)
    if folder is None:
        raise _resume_error(f"no run of {', '.join(wanted['suites'])} is stored in {results}")
    if difference := _difference(folder, wanted, fingerprints):
        raise _resume_error(f"run {folder.id} cannot be continued: {difference}")
    return folder


def reopen(folder: RunFolder, schedule: Schedule, listener: Listener) -> None:
    """Repair a run to be continued, and remove the records of groups that are measured again."""
    for problem in folder.repair():
        listener.message(problem)
    folder.withdraw(unfinished_keys(schedule, folder.records([])))
    finished = finished_keys(folder.records([]))
    groups = len(remaining_groups(schedule, finished))
    if groups:
        left = f"{groups} group{'s remain' if groups > 1 else ' remains'}"
        listener.message(f"continuing run {folder.id}: {len(finished)} cases are finished, {left}")
    else:
        listener.message(f"run {folder.id} is complete: nothing is left to measure")


def _resume_error(why: str) -> UsageError:
    return UsageError(f"--resume: {why}; start a new one without --resume")


def _newest_run(results: Path, wanted: Mapping[str, Any]) -> RunFolder | None:
    for folder in reversed(all_runs(results)):
        info = folder.readable_info([])  # skips unreadable runs
        same_part = (info.get("depth"), info.get("shard")) == (wanted["depth"], wanted["shard"])
        if same_part and {*(info.get("suites") or ())} == {*wanted["suites"]}:
            return folder
    return None


def _difference(
    folder: RunFolder, wanted: Mapping[str, Any], fingerprints: Sequence[Mapping[str, Any]]
) -> str:
    """What has changed since the run started (request, source or machine); empty if nothing has."""
    info = folder.info
    then, now = ({name: run.get(name) for name in CONTINUED} for run in (info, wanted))
    if changed := _list_differences(differences(then, now)):
        return f"it differs in {changed}"
    for facts in folder.fingerprints().values():
        ours = [mine for mine in fingerprints if mine["device"] == facts.get("device")] or fingerprints
        if all(any(fingerprint_differences(facts, mine)) for mine in ours):
            return f"this machine differs in {_list_differences(fingerprint_differences(facts, ours[0]))}"
    return ""


def _list_differences(unlike: Iterable[tuple[str, Any, Any]]) -> str:
    """The names that differ, with short values: `threads (2 then, 1 now), sources.mask/scatter`."""
    return ", ".join(
        name if max(len(str(old)), len(str(new))) > SHOWN_CHARACTERS else f"{name} ({old} then, {new} now)"
        for name, old, new in unlike
    )


WORK = ("compile", "warmup", "contract", "samples")


def overhead(context: RunContext, wall_s: float) -> dict[str, Any]:
    """The wall time by activity: compiling, verifying, sampling, and the rest.

    Concurrent threads each count their time, so a sum above the wall time is scaled down to it.
    """
    factor = min(1.0, wall_s / (sum(context.spent.values()) or 1.0))
    spent = {f"{name}_s": max(0.0, factor * s) for name, s in sorted(context.spent.items())}
    return totals(wall_s, {**spent, "other_s": max(0.0, wall_s - sum(spent.values()))})


def add_overheads(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """The overhead of a resumed run: seconds add up."""
    names = [name for name in {**before, **now} if name.endswith("_s") and name != "work_s"]
    total = {name: (before.get(name) or 0.0) + (now.get(name) or 0.0) for name in names}
    return totals(total.pop("wall_s", 0.0), total)


def totals(wall_s: float, spent: Mapping[str, float]) -> dict[str, Any]:
    """The wall time of a run in seconds, the part spent on work, and the time by activity."""
    work_s = sum(spent.get(f"{name}_s", 0.0) for name in WORK)
    return {
        "wall_s": round(wall_s, 3),
        "work_s": round(work_s, 3),
        "share": work_s / wall_s if wall_s > 0 else None,
        **{name: round(seconds, 3) for name, seconds in spent.items()},
    }
