"""Verdict on a panel of a run, the lengths where it holds, and a row per case with its records."""

from dataclasses import dataclass
from functools import cached_property

from harness.analysis.compare import Comparison
from harness.analysis.results import HOST
from harness.analysis.stats import DOUBTFUL, UNDECIDED, Estimate
from harness.analysis.suite_results import CaseResult, SuiteResults
from harness.core.units import TEMP_BYTES, format_bytes, format_count
from harness.findings.document import FindingsTable, Part, TableCell
from harness.findings.findings_run import FindingsRun
from harness.report import format as fmt
from harness.report.answer import answer, describe_finding
from harness.report.finding import PanelFinding, panel_finding
from harness.report.format import short_label
from harness.report.memory_limit import limit_of
from harness.report.provenance import machine_label
from harness.report.tables.suite import heading

NO_PAIR = "No case was timed together with a baseline."


@dataclass(frozen=True)
class PanelVerdict:
    """A panel of a run, with the finding on one implementation, if any was compared."""

    run: FindingsRun
    panel: SuiteResults

    @cached_property
    def finding(self) -> PanelFinding | None:
        return panel_finding(self.panel)

    @cached_property
    def series(self) -> list[Comparison]:
        """Comparisons of the finding's implementation, shortest length first."""
        label = self.finding.compared.implementation if self.finding else ""
        return sorted(
            (c for c in self.panel.comparisons if c.implementation == label and c.speedup is not None),
            key=lambda compared: compared.seq,
        )

    @property
    def first(self) -> int:
        """The shortest length of the range, up to the longest compared, where the verdict holds."""
        if self.finding is None or not self.series:
            return 0
        if self.finding.faster_from is not None:
            return self.finding.faster_from
        return (self.series[0] if self.finding.everywhere else self.finding.compared).seq

    @property
    def heading(self) -> str:
        sample = self.panel.records[0]
        return f"{heading(self.panel)}, {sample.mode} on {sample.device}"

    def verdict_part(self) -> Part:
        """The verdict, the answer of the panel, and the longest lengths that fit in memory."""
        lead = self._verdict(self.finding) if self.finding else self._no_pair()
        lines = (*answer(self.panel), self._memory_sentence())
        return Part(self.panel.name, self.heading, lead, tuple(filter(None, lines)))

    def _verdict(self, finding: PanelFinding) -> str:
        """`sparse beats dense from 8Ki: 2.67× at 16Ki, 95 % [2.46, 2.85]; on cpu; holds from 8Ki to 16Ki.`"""
        sample, last = self.panel.records[0], finding.compared.seq
        lengths = f"from {format_count(self.first)} to" if self.first < last else "at"
        holds = (
            "no verdict"
            if finding.verdict in {UNDECIDED, DOUBTFUL}
            else f"holds {lengths} {format_count(last)}"
        )
        machine = f"on {sample.device}, {machine_label(sample.fingerprint, self.run.info)}"
        return f"{finding.sentence()}{self._interval(finding)}; {machine}; {holds}."

    def claim(self) -> str:
        """The verdict for a receipt, where every ratio has its interval."""
        finding = self.finding
        if finding is None:
            return self._no_pair()
        if finding.compared.low is not None:
            return f"{finding.sentence()}{self._interval(finding)}."
        other = ", not mathematically equivalent" if finding.semantics else ""
        none = f"no interval at {format_count(finding.compared.seq)} ({finding.compared.reason})"
        text = f"{describe_finding(finding, None)}{other}; {none}{self._interval(finding)}"
        return f"{finding.implementation} against {finding.baseline}: {text}."

    def _no_pair(self) -> str:
        """Sentence that there is no speedup, with the reason if all implementations share it."""
        why, *others = {compared.cause for compared in self.panel.comparisons} or {""}
        if others or not (why and self.panel.baseline):
            return NO_PAIR
        return f"No speedup over {short_label(self.panel.baseline)}: {why}."

    def _interval(self, finding: PanelFinding) -> str:
        """Interval of the finding's ratio, else of the longest length with one; empty if there is none."""
        compared = finding.compared
        if compared.low is not None:
            interval = fmt.speedup_and_interval(compared.speedup or 1.0, compared.low, compared.high)[1]
            return f", 95 % {interval}"
        bounded = [compared for compared in self.series if compared.low is not None]
        if not bounded:
            return ""
        last = format_count(bounded[-1].seq)
        return f"; {ratio_text(bounded[-1])} at {last}, the longest with an interval"

    def _memory_sentence(self) -> str:
        """Sentence on the longest length that fits, and the shortest that does not, per implementation."""
        on_host = self.panel.records[0].device == "cpu"  # the setting limits only the host's memory
        limit = limit_of(self.run.info, self.panel.name, HOST) if on_host else None
        by_label: dict[str, list[CaseResult]] = {label: [] for label in self.panel.implementations}
        for row in self.panel.cases:
            by_label.setdefault(row.label, []).append(row)
        beyond = [_boundary(label, rows) for label, rows in by_label.items() if any(map(does_not_fit, rows))]
        longest = format_count(max(row.seq for row in self.panel.cases))
        rest = f"all {'others' if beyond else 'cases'} that ran fit, up to {longest}"
        within = f" (limit {format_bytes(limit)} per group)" if limit else ""
        return f"Memory{within}: {'; '.join([*beyond, rest])}."


def ratio_text(compared: Comparison) -> str:
    """`2.67× [2.46, 2.85]`."""
    return fmt.speedup(compared.speedup or 1.0, compared.low, compared.high)


def does_not_fit(row: CaseResult) -> bool:
    return row.status == "oom" or (row.static is not None and row.static.fits is False)


def _boundary(label: str, rows: list[CaseResult]) -> str:
    """`broadcast fits at 64Ki, not at 512Ki (33.1 GiB planned)`."""
    out = min(filter(does_not_fit, rows), key=lambda row: row.seq)
    fitting = max((row.seq for row in rows if row.seq < out.seq and row.status == "ok"), default=None)
    plan = out.static.planned_bytes if out.static else None
    until = f"fits at {format_count(fitting)}, not" if fitting else "does not fit"
    needs = f" ({format_bytes(plan)} planned)" if plan else ""
    return f"{short_label(label)} {until} at {format_count(out.seq)}{needs}"


COLUMNS = ("seq", "implementation", "time", "95 %", "speedup", "temp", "contract", "record")


def figures_part(judged: PanelVerdict) -> Part:
    """Part with a row per case."""
    table = FindingsTable(COLUMNS, tuple(_row(judged.run, row) for row in judged.panel.cases))
    return Part(judged.panel.name, judged.heading, table=table)


def _row(run: FindingsRun, row: CaseResult) -> tuple[TableCell, ...]:
    return (
        TableCell(format_count(row.seq)),
        TableCell(short_label(row.label)),
        *_times(row),
        _speedup(row),
        _temp(row),
        _contract(row),
        TableCell(run.name_records(row.records)),
    )


def _times(row: CaseResult) -> tuple[TableCell, TableCell]:
    if row.time.value is not None:
        return time_cells(row.time)
    failed = row.failed
    kind = failed.status if failed else "not timed"
    return TableCell(empty=kind, reason=(failed and failed.reason) or ""), TableCell(empty=kind)


def time_cells(time: Estimate) -> tuple[TableCell, TableCell]:
    """Cells of a time and its interval."""
    text, interval = fmt.seconds(time.value, time.low, time.high) if time.value else ("0 s", "")
    missing = TableCell(empty="no interval", reason=time.reason or "")
    return TableCell(text), missing if time.low is None else TableCell(interval)


def _speedup(row: CaseResult) -> TableCell:
    compared = row.compared
    if compared is None:
        return TableCell("baseline")
    if compared.speedup is None:
        return TableCell(empty=compared.cause or "no baseline")
    text = ratio_text(compared)
    notes = [note for note in compared.notes if note not in row.time.warnings]
    if compared.low is None:
        return TableCell(f"{text} (no interval)", reason="; ".join([*notes, compared.reason or ""]))
    return TableCell(text, reason="; ".join(notes))


def _temp(row: CaseResult) -> TableCell:
    if row.static is None:
        return TableCell(empty="not compiled")
    if row.static.temp_bytes is None:
        return TableCell(empty="not given", reason=row.static.unavailable["temp_bytes"])
    return TableCell(fmt.exact_figure(row.static.temp_bytes, TEMP_BYTES))


def _contract(row: CaseResult) -> TableCell:
    """`exact`, with the recall if the contract is about recall."""
    judged = row.record.correctness
    if judged is None:
        return TableCell(empty="not checked")
    recall = judged.figures.get("recall")
    found = f", recall {recall:.4g}" if isinstance(recall, float) else ""
    expected = " (expected)" if row.record.expected else ""
    return TableCell(
        f"{judged.contract}{found}" if judged.passed else f"failed {judged.contract}{found}{expected}"
    )
