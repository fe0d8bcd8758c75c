"""Every case of a panel in a row: figures, typed empty places, and the records that they come from."""

from harness.analysis.stats import Estimate
from harness.analysis.suite_results import CaseResult
from harness.core.units import TEMP_BYTES, format_count
from harness.findings.document import FindingsTable, Part, Slot
from harness.findings.kept_run import KeptRun
from harness.findings.panel_verdict import PanelVerdict, ratio_text
from harness.report import format as fmt
from harness.report.format import short_label

COLUMNS = ("seq", "implementation", "time", "95 %", "speedup", "temp", "contract", "record")


def figures_part(judged: PanelVerdict) -> Part:
    table = FindingsTable(COLUMNS, tuple(_row(judged.run, row) for row in judged.panel.cases))
    return Part(judged.panel.name, judged.heading, table=table)


def unmeasured_part(run: KeptRun) -> Part | None:
    """The cases that the run planned and has no record of; None where it has all."""
    known = {record.case for record in run.records}
    why = Slot(empty="not measured", reason="the run ended before it")
    rows = tuple((Slot(case), why) for case in run.planned if case not in known)
    table = FindingsTable(("planned case", "record"), rows)
    return Part(heading=f"{run.name}: without a record", table=table) if rows else None


def _row(run: KeptRun, row: CaseResult) -> tuple[Slot, ...]:
    return (
        Slot(format_count(row.seq)),
        Slot(short_label(row.label)),
        *_times(row),
        _speedup(row),
        _temp(row),
        _contract(row),
        Slot(run.name_records(row.records)),
    )


def _times(row: CaseResult) -> tuple[Slot, Slot]:
    if row.time.value is not None:
        return time_slots(row.time)
    failed = row.failed
    kind = failed.status if failed else "not timed"
    return Slot(empty=kind, reason=(failed and failed.reason) or ""), Slot(empty=kind)


def time_slots(time: Estimate) -> tuple[Slot, Slot]:
    """A time and its interval."""
    text, interval = fmt.seconds(time.value, time.low, time.high) if time.value else ("0 s", "")
    known = time.low is not None
    return Slot(text), Slot(interval) if known else Slot(empty="no interval", reason=time.reason or "")


def _speedup(row: CaseResult) -> Slot:
    compared = row.compared
    if compared is None:
        return Slot("baseline")
    if compared.speedup is None:
        return Slot(empty=compared.cause or "no baseline")
    text = ratio_text(compared)
    notes = [note for note in compared.notes if note not in row.time.warnings]
    if compared.low is None:
        return Slot(f"{text} (no interval)", reason="; ".join([*notes, compared.reason or ""]))
    return Slot(text, reason="; ".join(notes))


def _temp(row: CaseResult) -> Slot:
    if row.static is None:
        return Slot(empty="not compiled")
    if row.static.temp_bytes is None:
        return Slot(empty="not given", reason=row.static.unavailable["temp_bytes"])
    return Slot(fmt.exact_figure(row.static.temp_bytes, TEMP_BYTES))


def _contract(row: CaseResult) -> Slot:
    """`exact`, or what it was decided on where that is more than a count of mismatches."""
    judged = row.record.correctness
    if judged is None:
        return Slot(empty="not checked")
    recall = judged.figures.get("recall")
    found = f", recall {recall:.4g}" if isinstance(recall, float) else ""
    expected = " (expected)" if row.record.expected else ""
    return Slot(
        f"{judged.contract}{found}" if judged.passed else f"failed {judged.contract}{found}{expected}"
    )
