"""Resuming a stored run: find it, check that it may be continued, and remove its unfinished records."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness.catalog.catalog import Catalog
from harness.catalog.source_hash import same_hash_kind
from harness.core.difference import differences
from harness.core.errors import UsageError
from harness.core.fingerprint_identity import fingerprint_differences
from harness.run.events import Listener
from harness.run.group.run_context import STAGES_ALONE, Checks, ProfileExtras
from harness.run.runner import finished_keys, remaining_groups, unfinished_keys
from harness.store.find import all_runs
from harness.store.runs import RunFolder
from harness.sweep.schedule import Schedule, suite_info


@dataclass(frozen=True)
class Request:
    """What a command is to run. `depth` is `static`, `check`, `run` or `profile`; `checks` as in RunContext.

    With `wait` the command waits for devices that another one holds.
    """

    schedule: Schedule
    catalog: Catalog
    results: Path
    command: Sequence[str]
    depth: str
    version: str
    resume: bool = False
    checks: Checks = ()
    wait: bool = False
    extras: ProfileExtras = STAGES_ALONE


def suites_info(schedule: Schedule) -> dict[str, dict[str, Any]]:
    """The part of run.json for each suite: its cases and its settings."""
    settings = {suite.name: asdict(suite.settings) for suite in schedule.suites}
    return {name: {**info, "settings": settings[name]} for name, info in suite_info(schedule).items()}


def shard_info(schedule: Schedule) -> dict[str, Any] | None:
    """The part of run.json about the shard; None for a whole sweep."""
    return asdict(schedule.shard) if schedule.shard else None


def run_to_continue(request: Request, fingerprints: Sequence[Mapping[str, Any]]) -> RunFolder:
    """The newest run of the same suites. UsageError if there is none, or with what differs from it.

    `fingerprints` are this machine's, one for each device and number of threads in the schedule.
    """
    wanted = suites_info(request.schedule)
    folder = _newest_run(request, wanted)
    if folder is None:
        raise _resume_error(f"no run of {', '.join(wanted)} is stored in {request.results}")
    difference = _request_difference(folder.info, request, wanted) or _evidence_difference(
        folder, request, fingerprints
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


def _newest_run(request: Request, wanted: Mapping[str, Any]) -> RunFolder | None:
    for folder in reversed(all_runs(request.results)):
        info = folder.readable_info([])  # skips unreadable runs
        same_part = info.get("shard") == shard_info(request.schedule)
        if info.get("depth") == request.depth and set(info.get("suites") or ()) == set(wanted) and same_part:
            return folder
    return None


def _request_difference(info: Mapping[str, Any], request: Request, wanted: Mapping[str, Any]) -> str | None:
    """The difference between this command's request and the one that started the run."""
    for name, suite in wanted.items():
        changed = _list_differences(differences(info["suites"][name], suite))
        if changed:
            return f"suite {name} differs in {changed}"
    if info.get("replicates") != request.schedule.replicates:
        return f"it was started with --replicates {info.get('replicates')}"
    if info.get("extras", []) != request.extras.names:
        begun, asked = (" ".join(names) for names in (info.get("extras", []), request.extras.names))
        return f"it was started with {begun}" if begun else f"it was started without {asked}"
    return None


def _evidence_difference(
    folder: RunFolder, request: Request, fingerprints: Sequence[Mapping[str, Any]]
) -> str | None:
    """What has changed since the run's records were measured: source or machine."""
    fingerprints_stored = folder.fingerprints()
    for record in folder.records([]):
        info = request.catalog.implementations.get(record.implementation)
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
