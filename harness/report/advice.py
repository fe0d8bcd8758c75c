"""What to type next, given what became of the cases."""

from collections.abc import Sequence

from harness.analysis.query import SuiteRecords, label_of
from harness.spec.record import Record


def next_steps(suites: Sequence[SuiteRecords]) -> list[str]:
    """One line per suggestion: a remedy for what went wrong first, then where the results are."""
    records = [record for suite in suites for record in suite.records]
    if not records:
        return ["nothing was run: seqsweep run --dry-run says why"]
    run = records[-1].run
    ahead = f"next: seqsweep show --run {run} --json"
    if any(record.timing is not None or record.static for record in records):
        ahead = f"next: seqsweep chart --run {run}  or  seqsweep show --run {run} --json"
    return [*_wrong(records), *_memory(suites), *_slow(records), ahead]


def _wrong(records: Sequence[Record]) -> list[str]:
    labels = dict.fromkeys(label_of(record) for record in records if record.unexpected)
    if not labels:
        return []
    quoted = " ".join(f"'{label}'" if "[" in label else label for label in labels)
    return [f"not as registered: seqsweep check {quoted}"]


def _memory(suites: Sequence[SuiteRecords]) -> list[str]:
    hit = {suite.name: [r for r in suite.records if r.status == "oom"] for suite in suites}
    hit = {name: records for name, records in hit.items() if records}
    if not hit:
        return []
    count = _cases([record for records in hit.values() for record in records])
    plans = f"seqsweep static {' '.join(hit)}"
    return [f"out of memory ({count}): raise --memory; what every length plans: {plans}"]


def _slow(records: Sequence[Record]) -> list[str]:
    hit = [record for record in records if record.status == "timeout"]
    return [f"timed out ({_cases(hit)}): raise --timeout, or take shorter lengths with --seq"] if hit else []


def _cases(records: Sequence[Record]) -> str:
    count = len({record.case for record in records})
    return f"{count} case{'s' if count > 1 else ''}"
