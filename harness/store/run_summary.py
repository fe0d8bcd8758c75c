"""A summary of a stored run: its commit, its machine, and the outcomes of its cases."""

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from harness.core.errors import SeqsweepError
from harness.core.file_lock import holder_of
from harness.core.fingerprint_identity import device_name
from harness.core.typed_command import QUICK, quick_notes
from harness.store.runs import LOCK, RunFolder

FINISHED, OPEN, WRITTEN = "finished", "open", "being written"
EXPECTED = " (expected)"  # after the status of a case that is marked as incorrect


@dataclass(frozen=True)
class RunSummary:
    """A summary of a run; unknown values are None, or empty.

    `cases` is the number of cases with records, `planned` the number of cases in its suites. `statuses`
    counts cases by status; a case counts under each status of its replicates. `problems` are sentences about
    data that could not be read.
    """

    run: str
    command: str  # run, check, static or profile; "run --quick" if its times are noisy
    started: str | None  # UTC, ISO 8601
    commit: str | None  # of the repository that it was started in
    dirty: bool | None  # whether files differed from the commit
    machine: str | None  # the processor, or the GPU
    fingerprint: str | None  # the first, if cases had different devices or numbers of threads
    state: str  # FINISHED, OPEN (stopped, or crashed), or WRITTEN while a process writes it
    suites: tuple[str, ...]
    cases: int
    planned: int
    statuses: Mapping[str, int]
    problems: tuple[str, ...]


def summarise(folder: RunFolder) -> RunSummary:
    """Summarise a run. Damaged files are reported as problems."""
    problems: list[str] = []
    info = folder.readable_info(problems)
    _, environment = _first(folder.environments, problems)
    fingerprint, machine = _first(folder.fingerprints, problems)
    git, suites = environment.get("git") or {}, info.get("suites") or {}
    outcomes: dict[tuple[str, str], None] = {}
    try:
        for record in folder.records(problems):
            expected = EXPECTED if record.expected and record.status == "incorrect" else ""
            outcomes[record.case, record.status + expected] = None
    except SeqsweepError as error:
        problems.append(str(error))
    return RunSummary(
        run=folder.id,
        command=f"{info.get('depth') or 'run'}{f' {QUICK}' * bool(quick_notes(info))}",
        started=info.get("started"),
        commit=git.get("commit"),
        dirty=git.get("dirty"),
        machine=device_name(machine),
        fingerprint=fingerprint,
        state=_state(folder, info),
        suites=tuple(suites),
        cases=len({case for case, _ in outcomes}),
        planned=len({case for suite in suites.values() for case in suite["cases"]}),
        statuses=dict(Counter(status for _, status in outcomes).most_common()),
        problems=tuple(problems),
    )


def _first(read: Callable[[], dict[str, Any]], problems: list[str]) -> tuple[str | None, Mapping[str, Any]]:
    """The first entry of a file; errors are added to `problems`."""
    try:
        return next(iter(read().items()), (None, {}))
    except SeqsweepError as error:
        problems.append(str(error))
        return None, {}


def _state(folder: RunFolder, info: Mapping[str, Any]) -> str:
    with suppress(OSError):  # a lock that cannot be opened belongs to another user
        if holder_of(folder.path / LOCK):
            return WRITTEN
    return FINISHED if info.get("finished") else OPEN
