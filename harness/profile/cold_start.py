"""Cold starts: from a new interpreter to the first result, and the calls after which that has paid back.

First the figures, then their presentation: a sentence per case, a table of its steps, and plain data.
All intervals are at 95 % over new processes.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.analysis.results import label_of
from harness.analysis.stats import BY_PROCESS, Estimate
from harness.core.grouped import collected
from harness.core.median_interval import median_interval, samples_needed
from harness.core.record import COLD_STEPS, ColdStart, Record
from harness.core.units import format_count
from harness.profile.stage_times import bounds, estimate_data
from harness.report import format as fmt
from harness.report.tables.table_data import Column, TableData

TO_FIRST = COLD_STEPS[: COLD_STEPS.index("first call") + 1]
LATER = "later call"
REQUIRED = f"needs ≥ {samples_needed()} {BY_PROCESS}"  # whose median is taken as one over rounds is
TITLE = "Cold starts: seconds of each step in a new process; median and 95 % interval over processes"
COLUMNS = (
    Column("seq"),
    Column("implementation", right=False),
    Column("step", right=False),
    Column("time"),
    Column("95 %"),
)


@dataclass(frozen=True)
class ColdCase:
    """A case's cold start. `steps` has seconds by step, in the order of COLD_STEPS.

    `to_first` are the seconds until the first result. `pays_back` is the call after which a process has taken
    no longer in all than one of its baseline, the start included. It is None where that never happens, or is
    not known, and `reason` says which.
    """

    record: Record
    steps: Mapping[str, Estimate]
    to_first: Estimate
    pays_back: int | None
    reason: str = ""

    @property
    def missing(self) -> Mapping[str, str]:
        """Why a step has no time."""
        return self.record.cold.missing if self.record.cold else {}


def cold_cases(records: Iterable[Record]) -> list[ColdCase]:
    """The records with a cold start, each beside the baseline of its group."""
    cold = [record for record in records if record.cold is not None]
    baselines = {record.as_case.group: record for record in cold if record.baseline}
    return [_cold_case(record, baselines.get(record.as_case.group)) for record in cold]


def _cold_case(record: Record, baseline: Record | None) -> ColdCase:
    cold = record.cold
    assert cold is not None
    steps = {step: _estimate(cold.steps[step]) for step in COLD_STEPS if step in cold.steps}
    calls, reason = _pays_back(record, baseline)
    return ColdCase(record, steps, _estimate(_to_first(cold)), calls, reason)


def _to_first(cold: ColdStart) -> list[float]:
    """Seconds until the first result, by process."""
    parts = [cold.steps[step] for step in TO_FIRST if step in cold.steps]
    return [math.fsum(part) for part in zip(*parts, strict=True)]


def _pays_back(record: Record, baseline: Record | None) -> tuple[int | None, str]:
    if baseline is None or baseline.cold is None or record.cold is None:
        return None, "its baseline has no cold start here"
    if baseline.case == record.case:
        return None, "it is the baseline"
    first_s, base_first_s = (median_interval(_to_first(cold))[0] for cold in (record.cold, baseline.cold))
    later_s, base_later_s = (median_interval(cold.steps[LATER])[0] for cold in (record.cold, baseline.cold))
    calls = calls_to_pay_back(first_s - base_first_s, base_later_s - later_s)
    return calls, "" if calls else "its later calls are no faster than its baseline's"


def calls_to_pay_back(later_by_s: float, saved_s: float) -> int | None:
    """The call after which a process has caught up with one whose first result came `later_by_s` sooner.

    >>> calls_to_pay_back(10.0, 2.0), calls_to_pay_back(-1.0, 2.0), calls_to_pay_back(1.0, 0.0)
    (6, 1, None)
    """
    if saved_s <= 0:
        return None
    return 1 + max(0, math.ceil(later_by_s / saved_s))


def _estimate(readings: Sequence[float]) -> Estimate:
    middle, low, high = median_interval(readings)
    few = len(readings) < samples_needed()
    reason = f"{REQUIRED}; has {len(readings)}" if few else None
    return Estimate(middle, low, high, len(readings), BY_PROCESS, reason)


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
    """The cold starts as plain data: seconds, and the call after which a case has caught up."""
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
