"""A stored run as findings need it: its results by suite, its records' hashes, and the notes kept with it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from harness.analysis.filter import Selection
from harness.analysis.suite_results import SuiteResults, results_of
from harness.core.record import Record
from harness.store.runs import RunFolder
from harness.store.stored_run import RecordKey, without_collector

SHORT = 10  # digits of a record's hash in a table


@dataclass(frozen=True, eq=False)
class KeptRun:
    """A run, or some of its suites.

    `name` is what commands call it, `planned` are the ids of all cases of its suites, `notes` is its
    notes.md, `hashes` are those of its records' lines, `environments` the machine's states by the hash that
    records have, the first the one at its start, `crash_logs` are by the name that records have.
    """

    name: str
    info: Mapping[str, Any]
    records: tuple[Record, ...]
    planned: tuple[str, ...]
    problems: tuple[str, ...]
    notes: str
    hashes: Mapping[RecordKey, str]
    environments: Mapping[str, Any]
    crash_logs: Mapping[str, str]

    @cached_property
    def suites(self) -> list[SuiteResults]:
        return results_of(self.info, self.records)

    @property
    def panels(self) -> Iterable[SuiteResults]:
        return (panel for suite in self.suites for panel in suite.panels.values())

    @property
    def environment(self) -> Mapping[str, Any]:
        """The machine's state when the run began."""
        return next(iter(self.environments.values()), {})

    @property
    def depth(self) -> str:
        return str(self.info.get("depth") or "run")

    def name_records(self, records: Iterable[Record]) -> str:
        """The short hashes of records, with spaces between."""
        return " ".join(self.hashes[record.key][:SHORT] for record in records if record.key in self.hashes)


def read_kept(folder: RunFolder, name: str, suites: Sequence[str] = ()) -> KeptRun:
    """The run of a folder; of these suites only, where the run has any of them."""
    problems: list[str] = []
    hashes: dict[RecordKey, str] = {}
    described = folder.info_with_fingerprints(problems)
    known = described.get("suites") or {}
    wanted = tuple(suite for suite in suites if suite in known)
    with without_collector():
        info, records = Selection(wanted).of(described, folder.records(problems, hashes))
    planned = [case for suite in wanted or known for case in known[suite].get("cases", ())]
    return KeptRun(
        name, info, tuple(records), tuple(dict.fromkeys(planned)), tuple(problems), folder.notes(), hashes,
        folder.environments(),
        {r.crash_file: folder.crash_log(r.crash_file) for r in records if r.crash_file},
    )  # fmt: skip
