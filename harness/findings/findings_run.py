"""Stored run for findings: its results, hashes, notes and provenance."""

import shlex
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from harness.analysis.filter import Selection
from harness.analysis.roofline import known_rooflines
from harness.analysis.stats import Estimate
from harness.analysis.suite_results import SuiteResults, results_of
from harness.core.fingerprint_identity import device_name
from harness.core.record import Record
from harness.core.typed_command import quick_notes
from harness.core.units import format_bytes
from harness.findings.document import Part
from harness.report.provenance import provenance
from harness.store.runs import RunFolder
from harness.store.stored_run import RecordKey, without_collector

SHORT = 10  # digits of a record's hash in a table


@dataclass(frozen=True, eq=False)
class FindingsRun:
    """A stored run, or some of its suites.

    `name` is its name in commands, `planned` are the ids of all cases of its suites, and `notes` is its
    notes.md. `hashes` are those of the records' lines. `environments` are the machine's states by the hash in
    records, starting with the one at the start of the run. `crash_logs` are by the name in records.
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
        """The machine's state at the start of the run."""
        return next(iter(self.environments.values()), {})

    @property
    def depth(self) -> str:
        return str(self.info.get("depth") or "run")

    def name_records(self, records: Iterable[Record]) -> str:
        """Short hashes of records, separated by spaces."""
        return " ".join(self.hashes[record.key][:SHORT] for record in records if record.key in self.hashes)


def read_findings_run(folder: RunFolder, name: str, suites: Sequence[str] = ()) -> FindingsRun:
    """Read the run in a folder; only these suites, if the run has any of them."""
    problems: list[str] = []
    hashes: dict[RecordKey, str] = {}
    described = folder.info_with_fingerprints(problems)
    described["rooflines"] = known_rooflines(folder.path)
    known = described.get("suites") or {}
    wanted = tuple(suite for suite in suites if suite in known)
    with without_collector():
        info, records = Selection(wanted).of(described, folder.records(problems, hashes))
    planned = [case for suite in wanted or known for case in known[suite].get("cases", ())]
    return FindingsRun(
        name, info, tuple(records), tuple(planned), tuple(problems), folder.notes(), hashes,
        folder.environments(),
        {r.crash_file: folder.crash_log(r.crash_file) for r in records if r.crash_file},
    )  # fmt: skip


DIRTY = "It ran with uncommitted changes, so its commit may give other figures."
METHOD = (
    "Method: the implementations of a point are timed in shuffled rounds, in separate processes. A time is a "
    "median, with a distribution-free 95 % interval over the rounds of one process. The intervals are for "
    "display, not for verdicts. A speedup is the median of the ratios within a round."
)


def commit_of(run: FindingsRun) -> tuple[str, bool]:
    """(the commit of a run or "", whether it had uncommitted changes)."""
    git: Mapping[str, Any] = run.environment.get("git") or {}
    return str(git.get("commit") or ""), bool(git.get("dirty"))


def command_of(run: FindingsRun) -> str:
    """Shell command of a run. Its program is always seqsweep, whatever run.json has."""
    words = run.info.get("command") or ("seqsweep", "run")
    return shlex.join(["seqsweep", *map(str, words[1:])])


def replay_part(run: FindingsRun, lock: Path | None) -> Part:
    """Command line that runs a run again, at its commit, with pinned versions if there are any."""
    commit, _ = commit_of(run)
    steps = [f"git checkout {commit}"] if commit else []
    steps += [f"pip install -c {lock.name} -e '.[all]'"] if lock else []
    lines = [f"{run.name}: started {run.info.get('started')}."]
    lines += ["Its commit is unknown."] if not commit else []
    return Part(sentences=tuple(lines), command=" && ".join([*steps, command_of(run)]))


def errors_part(run: FindingsRun) -> Part | None:
    """Known errors of a run: its notes, unreadable parts, and missing cases."""
    noted = [line.lstrip("-* ") for line in run.notes.splitlines() if line.strip()]
    dirty = [DIRTY] if commit_of(run)[1] else []
    interrupted = [] if run.info.get("finished") else ["It was interrupted, so cases may be missing."]
    lost = {*run.planned} - {record.case for record in run.records}
    absent = [f"{len(lost)} planned cases have no record, for example {min(lost)}."] if lost else []
    lines = (*noted, *run.problems, *quick_notes(run.info), *dirty, *interrupted, *absent)
    return Part(heading=run.name, sentences=lines) if lines else None


def method_part(runs: Sequence[FindingsRun]) -> Part:
    """Machine, provenance, noise, method and correctness, in five lines."""
    facts = {key: fact for run in runs for key, fact in (run.info.get("fingerprints") or {}).items()}
    records = [record for run in runs for record in run.records]
    times = [t for run in runs for panel in run.panels for t in panel.times.values() if t.value is not None]
    statuses = Counter(record.status for record in records)
    ended = ", ".join(f"{count} {status}" for status, count in statuses.most_common())
    judged = [record.correctness for record in records if record.correctness is not None]
    met = sum(correctness.passed for correctness in judged)
    return Part(
        sentences=(
            f"Machine: {'; '.join(map(describe_machine, facts.values())) or 'not recorded'}.",
            f"Records: {provenance(records, {'fingerprints': facts})}.",
            f"Noise: {_noise(times)} {_loads(runs)}",
            METHOD,
            f"Correctness: {met} of {len(judged)} checked results pass their contracts. Statuses: {ended}.",
        )
    )


def describe_machine(facts: Mapping[str, Any]) -> str:
    """`AMD EPYC, 2 cores, 2 threads, 24 GiB, kernel 6.18, Python 3.11.7, torch 2.13.0, jax 0.10.2`."""
    name = device_name(facts) or "unknown processor"
    counted = [f"{facts[key]} {key}" for key in ("cores", "threads") if facts.get(key)]
    memory = [format_bytes(facts["memory_gib"] * 2**30)] if facts.get("memory_gib") else []
    versions = [
        f"{package} {version}" for package, version in (facts.get("versions") or {}).items() if version
    ]
    named = [
        f"{word} {facts[key]}" for key, word in (("kernel", "kernel"), ("python", "Python")) if key in facts
    ]
    return ", ".join([str(name), *counted, *memory, *named, *versions])


def _noise(times: Sequence[Estimate]) -> str:
    """Half widths of the times' intervals, relative to their medians."""
    halves = sorted(
        (time.high - time.low) / 2 / time.value
        for time in times
        if time.value is not None and time.low is not None and time.high is not None
    )
    if not halves:
        return "no time has an interval." if times else "no case was timed."
    middle, worst = 100 * statistics.median(halves), 100 * halves[-1]
    return (
        f"95 % intervals of times are ± {middle:.2g} % in the median, ± {worst:.2g} % at most; "
        f"{len(times) - len(halves)} of {len(times)} times have no interval."
    )


def _loads(runs: Sequence[FindingsRun]) -> str:
    loads = [load[0] for run in runs if (load := run.environment.get("load"))]
    return f"Load at the start of the runs: {', '.join(f'{load:.1f}' for load in loads)}." if loads else ""
