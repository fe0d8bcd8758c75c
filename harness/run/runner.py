"""Runner: measures the groups of a run one after the other, and continues a stored run with --resume.

Each group is written before the next begins.
"""

import dataclasses
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.catalog.catalog import Catalog
from harness.catalog.source_hash import same_hash_kind
from harness.core.errors import UsageError
from harness.core.fingerprint_identity import fingerprint_differences
from harness.core.plain_data import differences
from harness.core.record import Record
from harness.core.static_figures import Static
from harness.run.case.compiled_plan import NOT_COMPILED
from harness.run.case.predict import KnownWork
from harness.run.events import Listener
from harness.run.group.group_context import GroupContext
from harness.run.group.group_run import (
    GroupRun,
    Interrupted,
    new_record,
    target_of,
    was_compiled,
    was_cut_short,
)
from harness.run.group.run_context import Provenance, RunContext
from harness.run.overhead import RemainingTime, overhead
from harness.store.find import all_runs
from harness.store.runs import RunFolder
from harness.sweep.schedule import Group, Schedule

Key = tuple[str, int]  # case id and replicate
Fingerprint = Callable[[str, int | None], str]  # of a device and a number of threads; None: the first suite's


@dataclass(frozen=True)
class RunOutcome:
    """How a run ended; `groups` is the number of groups that it had to measure."""

    groups: int
    interrupted: bool
    overhead: Mapping[str, Any]


def run(
    schedule: Schedule,
    context: RunContext,
    sink: RunFolder,
    *,
    done: Iterable[Record] = (),
    fingerprint: Fingerprint | None = None,
    known_s: Mapping[str, float] | None = None,
) -> RunOutcome:
    """Measure all that is not `done`. `known_s` are wall seconds of cases in earlier runs, for estimates.

    At most the running group is lost: after Ctrl-C, or a MachineError, the samples that the running group
    has so far are written too.
    """
    start = context.clock()
    finished = finished_keys(_predict_from(context, done))
    todo = remaining_groups(schedule, finished)
    position = len(schedule.groups) * schedule.replicates - len(todo)
    estimate = RemainingTime([group for group, _ in todo], known_s or {})
    interrupted = False

    def provenance(device: str, threads: int | None = None) -> Provenance:
        named = fingerprint(device, threads) if fingerprint else context.provenance.fingerprint
        return dataclasses.replace(context.provenance, fingerprint=named)

    try:
        if impossible := _records_of_skips(schedule, provenance, finished):
            sink.append(impossible)
        for index, (group, replicate) in enumerate(todo, start=position):
            context.provenance = provenance(group.cases[0].device, group.settings.threads)
            ids = [case.id for case in group.cases]
            context.listener.group_started(index, group.key, ids, estimate.remaining())
            group_start = context.clock()
            records = GroupRun(GroupContext(group, context, replicate)).run()
            sink.append(records)
            estimate.took(context.clock() - group_start)
            context.listener.group_finished(records, estimate.remaining())
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
        _learn(context, record)
        yield record


def _learn(context: RunContext, record: Record) -> None:
    case = record.as_case
    static = next(iter(record.static.values()), None)
    if record.timing is not None:
        context.predictor.record(case, record.timing.median_s, KnownWork.of(static, record.cost))
    elif record.status in {"oom", "timeout"} and not (static and static.fits is False):
        context.predictor.record_failure(case, record.status, compiling=not was_compiled(record))


def _records_of_skips(
    schedule: Schedule, provenance: Callable[[str], Provenance], stored: Collection[Key]
) -> list[Record]:
    """Records of the cases that the schedule skips as unsupported, unless stored already."""
    return [
        new_record(
            skip.case,
            schedule.implementations[skip.case.implementation],
            provenance(skip.case.device),
            "unsupported",
            reason=skip.reason,
            remedy=skip.remedy,
            static={target_of(skip.case): Static.none(NOT_COMPILED)},
        )
        for skip in schedule.skips
        if (skip.case.id, 0) not in stored
    ]


def run_to_continue(
    results: Path, wanted: Mapping[str, Any], catalog: Catalog, fingerprints: Sequence[Mapping[str, Any]]
) -> RunFolder:
    """The newest run of the same suites. UsageError if there is none, or with what differs from it.

    `wanted` is what run.json would say of a new one.
    """
    folder = _newest_run(results, wanted)
    if folder is None:
        raise _resume_error(f"no run of {', '.join(wanted['suites'])} is stored in {results}")
    difference = _request_difference(folder.info, wanted) or _evidence_difference(
        folder, catalog, fingerprints
    )
    if difference:
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
        to_go = f"{groups} group{'s' if groups > 1 else ''} to go"
        listener.message(f"continuing run {folder.id}: {len(finished)} cases are there, {to_go}")
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


def _request_difference(info: Mapping[str, Any], wanted: Mapping[str, Any]) -> str | None:
    """The difference between this command's request and the one that started the run."""
    for name, suite in wanted["suites"].items():
        changed = _list_differences(differences(info["suites"][name], suite))
        if changed:
            return f"suite {name} differs in {changed}"
    if info.get("replicates") != wanted["replicates"]:
        return f"it was started with --replicates {info.get('replicates')}"
    begun, asked = (" ".join(run.get("extras", ())) for run in (info, wanted))
    if begun != asked:
        return f"it was started with {begun}" if begun else f"it was started without {asked}"
    return None


def _evidence_difference(
    folder: RunFolder, catalog: Catalog, fingerprints: Sequence[Mapping[str, Any]]
) -> str | None:
    """What has changed since the run's records were measured: source or machine."""
    fingerprints_stored = folder.fingerprints()
    for record in folder.records([]):
        info = catalog.implementations.get(record.implementation)
        if info is not None and not same_hash_kind(info.hash, record.source):
            return f"an earlier version hashed the source of {record.implementation} in another way"
        if info is None or info.hash != record.source:
            return f"the source of {record.implementation} has changed"
        facts = fingerprints_stored.get(record.fingerprint)
        if facts is None:
            return f"the fingerprint of {record.case} is missing"
        ours = [mine for mine in fingerprints if mine["device"] == record.device]
        if all(any(fingerprint_differences(facts, mine)) for mine in ours):
            names = _list_differences(fingerprint_differences(facts, ours[0]))
            return f"this machine differs in {names}"
    return None


def _list_differences(unlike: Iterable[tuple[str, Any, Any]]) -> str:
    """`threads (2 then, 1 now), axes.seq`: the names that differ, with their values if short."""
    names: list[str] = []
    for name, old, new in unlike:
        long = isinstance(old, (list, Mapping)) or isinstance(new, (list, Mapping))
        names.append(name if long else f"{name} ({old} then, {new} now)")
    return ", ".join(names)
