"""The details behind a row of the page: readings, verdicts, other implementations, machine, code."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from harness.analysis.results import HOST
from harness.analysis.same_program import same_kind
from harness.analysis.stats import ratio, read_interval
from harness.analysis.suite_results import CaseResult, SuiteResults
from harness.core.record import Record
from harness.findings.kept_run import KeptRun
from harness.report import format as fmt

VERDICTS = {True: "passed", False: "failed", None: "a property"}


@dataclass(frozen=True)
class RatioBeside:
    """A case's time in units of another implementation's; `reading` puts its interval into a word."""

    label: str
    value: str
    text: str
    reading: str


def replicate_lines(record: Record) -> list[str]:
    """The outcome of one process, its verdicts, and how it was timed, in lines."""
    lines = [f"{record.status}: {record.reason}"] if record.reason else []
    judged, timing = record.correctness, record.timing
    if judged is not None:
        found = f"{VERDICTS[judged.passed]}, {fmt.figures(judged.figures)}, {judged.coverage}"
        lines.append(f"contract {judged.contract}: {found}")
    lines += [
        f"check {check.check}: {VERDICTS[check.passed]}, {fmt.figures(check.figures)} {check.reason}"
        for check in record.checks
    ]
    if timing is not None:
        taken = f"{timing.inner} calls a reading, ended by {timing.stopped}, {timing.discarded} discarded"
        lines += [f"{timing.method}, inputs {timing.cache}, {taken}", *timing.warnings]
    return lines


def ratios_beside(panel: SuiteResults, row: CaseResult) -> Iterator[RatioBeside]:
    """The ratios of a case to every other implementation at its length, from the rounds that both have."""
    for other in panel.cases:
        if other.seq != row.seq or other.label == row.label:
            continue
        found = ratio(row.records, other.records)
        if found.value is not None:
            kind = same_kind(row.records, other.records, target=HOST)
            reading = f"{read_interval(found)}{f', the same {kind}' if kind else ''}"
            text = fmt.speedup(found.value, found.low, found.high)
            yield RatioBeside(other.label, f"{found.value:.6g}", text, reading)


def origin_lines(run: KeptRun, record: Record) -> list[str]:
    """Where a record was measured and of which code, with the stored facts of the machine and its state."""
    machine = (run.info.get("fingerprints") or {}).get(record.fingerprint) or {}
    known = {**machine, **run.environments.get(record.environment or "", {})}
    hashes = {name: getattr(record, name) for name in ("source", "fingerprint", "environment")}
    return [
        f"run {record.run}, started {record.started}, {record.wall_s:.1f} s in all",
        *(f"{name}: {value or 'unknown'}" for name, value in hashes.items()),
        *(f"{name}: {_plain(value)}" for name, value in known.items()),
    ]


def _plain(value: object) -> str:
    """A fact of a machine, one that holds others in a line."""
    inner = cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}
    return ", ".join(f"{name} {_plain(part)}" for name, part in inner.items()) or str(value)
