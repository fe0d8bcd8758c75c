"""History of a case: its median in every run on one machine, compared with the previous run. A trend."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.analysis.compare_runs import describe_differences, quotient
from harness.analysis.results import CaseRecords, representative
from harness.analysis.stats import Estimate, time_of
from harness.core.case import matches, matching_ids
from harness.core.clocks import is_one_clock
from harness.core.errors import UsageError
from harness.core.record import Record
from harness.core.typed_command import quick_notes
from harness.store.find import all_runs, find

Facts = Mapping[str, Mapping[str, Any]]  # hash → facts of a fingerprint or environment


@dataclass(frozen=True)
class RunMedian:
    """A case in one run: the median in seconds, and its ratio to the previous run with a time.

    `commit` is the repository's, followed by `+` if there were uncommitted changes. `reason` says why there
    is no time. `quick`: the run used `--quick`, which is noisy.
    """

    run: str
    started: str
    commit: str | None
    status: str
    time: Estimate
    ratio: Estimate
    reason: str | None
    quick: bool = False


@dataclass(frozen=True)
class CaseHistory:
    """One case over runs with one fingerprint, oldest first.

    `left_out` maps runs with other fingerprints to the differences.
    """

    case: str
    fingerprint: str
    medians: tuple[RunMedian, ...]
    left_out: Mapping[str, str]


def read_histories(results: Path, patterns: Sequence[str], warn: Callable[[str], None]) -> list[CaseHistory]:
    """The histories of the cases that match the patterns; `warn` is called with problems in reading.

    UsageError for a pattern without a match.
    """
    known: dict[str, dict[str, list[Record]]] = {}  # case → run → replicates
    fingerprints: dict[str, Any] = {}
    environments: dict[str, Any] = {}
    quick: set[str] = set()
    for folder in all_runs(results) or [find(results)]:
        problems: list[str] = []
        if quick_notes(folder.readable_info([])):
            quick.add(folder.id)
        for record in folder.records(problems):
            if record.side is None and (record.timing is not None or record.status != "ok"):
                runs = known.setdefault(record.case, {})
                if any(matches(pattern, record.case) for pattern in patterns):
                    runs.setdefault(folder.id, []).append(record)
        for facts, read in ((fingerprints, folder.fingerprints), (environments, folder.environments)):
            try:
                facts.update(read())
            except UsageError as error:
                problems.append(str(error))
        for problem in problems:
            warn(f"{folder.id}: {problem}")
    found = (known[case] for case in matching_ids(patterns, known, "CASES"))
    return [
        _history_of(
            {run: CaseRecords(sorted(records, key=lambda r: r.replicate)) for run, records in runs.items()},
            *(fingerprints, environments, quick),
        )
        for runs in found
    ]


def _history_of(
    runs: Mapping[str, CaseRecords], fingerprints: Facts, environments: Facts, quick: Collection[str]
) -> CaseHistory:
    """The history of a case from its records by run, oldest first, on the machine of the newest timed one."""
    firsts = {run: representative(records) for run, records in runs.items()}
    newest = next((r for r in reversed(firsts.values()) if r.timing), list(firsts.values())[-1])
    known = fingerprints.get(newest.fingerprint) or {}
    medians: list[RunMedian] = []
    left_out: dict[str, str] = {}
    last, clock = Estimate(None, reason="no earlier time"), ""
    for run, record in firsts.items():
        if record.fingerprint != newest.fingerprint:
            others = fingerprints.get(record.fingerprint) or {}
            left_out[run] = ", ".join(describe_differences(others, known)) or "its fingerprint is not stored"
            continue
        time = time_of(runs[run])
        method = record.timing.method if record.timing else clock
        if clock and not is_one_clock(method, clock):
            last = Estimate(None, reason=f"timed by {method}, the previous run by {clock}")
        ratio, clock = quotient(time, last), method
        commit, why = _commit(environments.get(record.environment) or {}), record.reason or time.reason
        figures = record.started, commit, record.status, time, ratio, why
        medians.append(RunMedian(run, *figures, quick=run in quick))
        last = last if time.value is None else time
    return CaseHistory(newest.case, newest.fingerprint, tuple(medians), left_out)


def _commit(environment: Mapping[str, Any]) -> str | None:
    """`65ea261`, `65ea261+` with uncommitted changes; None outside of a repository."""
    git = environment.get("git")
    return f"{git['commit'][:7]}{'+' if git.get('dirty') else ''}" if git and git.get("commit") else None
