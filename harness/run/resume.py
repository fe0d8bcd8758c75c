"""Resuming a stored run: find it, check that it may be continued, and remove its unfinished records."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.catalog.catalog import Catalog
from harness.catalog.source_hash import same_hash_kind
from harness.core.difference import differences
from harness.core.errors import UsageError
from harness.core.fingerprint_identity import fingerprint_differences
from harness.run.events import Listener
from harness.run.runner import finished_keys, remaining_groups, unfinished_keys
from harness.store.find import all_runs
from harness.store.runs import RunFolder
from harness.sweep.schedule import Schedule


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
