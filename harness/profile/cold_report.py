"""Cold starts on a terminal and as JSON: a sentence per case, then its steps."""

from collections.abc import Iterator, Sequence
from typing import Any

from harness.analysis.results import label_of
from harness.core.grouped import collected
from harness.core.units import format_count
from harness.profile.cold_start import ColdCase
from harness.profile.estimates import bounds, estimate_data
from harness.report import format as fmt
from harness.report.tables.table_data import Column, TableData

TITLE = "Cold starts: seconds of each step in a new process; median and 95 % interval over processes"
COLUMNS = (
    Column("seq"),
    Column("implementation", right=False),
    Column("step", right=False),
    Column("time"),
    Column("95 %"),
)


def cold_sentences(cases: Sequence[ColdCase]) -> list[str]:
    """When each has its first result, and when it has caught up with its baseline."""
    return [
        f"{label_of(case.record)} at {format_count(case.record.seq)}: a new process has its first result "
        f"after {fmt.seconds(*bounds(case.to_first))[0]}; {_payback(case)}."
        for case in cases
    ]


def _payback(case: ColdCase) -> str:
    if case.pays_back is None:
        return case.reason
    return f"it has caught up with its baseline after {case.pays_back} call{'s' * (case.pays_back > 1)}"


def cold_table(cases: Sequence[ColdCase]) -> TableData:
    """The steps of every case; those that it does not have stand with the reason."""
    sections = [((format_count(c.record.seq), label_of(c.record)), _lines(c)) for c in cases]
    return TableData.of_sections(TITLE, COLUMNS, sections)


def _lines(case: ColdCase) -> Iterator[tuple[str, ...]]:
    cold = case.record.cold
    named = {"later call": f"call {cold.later}"} if cold else {}
    for step, time in (*case.steps.items(), ("to the first result", case.to_first)):
        yield named.get(step, step), *fmt.seconds(*bounds(time))
    for reason, steps in collected((why, step) for step, why in case.missing.items()).items():
        yield f"{', '.join(steps)}: {reason}", fmt.ABSENT, ""


def cold_data(cases: Sequence[ColdCase]) -> list[dict[str, Any]]:
    """The same as plain data: seconds, and the call at whose end a case is no longer behind its baseline."""
    return [
        {
            "case": case.record.case,
            "implementation": label_of(case.record),
            "seq": case.record.seq,
            "steps": {step: estimate_data(time, "s") for step, time in case.steps.items()},
            "missing": dict(case.missing),
            "to_first": estimate_data(case.to_first, "s"),
            "later_call": case.record.cold.later if case.record.cold else None,
            "pays_back": case.pays_back,
            "reason": case.reason,
        }
        for case in cases
    ]
