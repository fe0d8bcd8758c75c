"""What stands behind a row: readings, verdicts, other implementations, plans, machine, a crash's log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from harness.analysis.compare_runs import read_interval
from harness.analysis.results import HOST
from harness.analysis.same_program import same_kind
from harness.analysis.stats import ratio
from harness.analysis.suite_results import CaseResult, SuiteResults
from harness.core.metric import FLOPS, TEMP_BYTES
from harness.core.record import Record
from harness.core.units import format_count
from harness.findings.html.element import Markup, bullets, element, fold, join
from harness.findings.html.sample_strip import sample_strip
from harness.findings.kept_run import KeptRun
from harness.report import format as fmt
from harness.report.format import short_label

VERDICTS = {True: "passed", False: "failed", None: "a property"}


def case_details(run: KeptRun, panel: SuiteResults, row: CaseResult, anchor: str) -> Markup:
    """Folded; a link to `anchor`, which is inside of it, opens it."""
    inside = element(
        "div",
        element("p", element("code", row.case)),
        *(_replicate(run, record) for record in row.records),
        _beside(panel, row),
        _static(row.record),
        bullets(f"{name.replace('_', ' ')}: {value}" for name, value in row.record.facts.items()),
        _origin(run, row.record),
        id=anchor,
    )
    return fold(f"{format_count(row.seq)} {short_label(row.label)}: {row.status}", inside)


def _replicate(run: KeptRun, record: Record) -> Markup:
    """One process: its readings, what became of it, its verdicts, its log."""
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
    log = run.crash_logs.get(record.crash_file, "")
    strip = sample_strip(timing) if timing is not None else ""
    return join((strip, bullets(lines), element("pre", log) if log else ""))


def _beside(panel: SuiteResults, row: CaseResult) -> Markup:
    """Its time in units of every other implementation's, in the rounds that both have."""
    rows: list[Markup] = []
    for other in panel.cases:
        clocks = {record.timing.method for record in (row.record, other.record) if record.timing}
        if other.seq != row.seq or other.label == row.label or len(clocks) != 1:
            continue
        found = ratio(row.records, other.records)
        if found.value is not None:
            text = fmt.speedup(found.value, found.low, found.high)
            kind = same_kind(row.records, other.records, target=HOST)
            reading = f"{read_interval(found)}{f', the same {kind}' if kind else ''}"
            cells = (short_label(other.label), text, reading)
            rows.append(_row("td", cells, data_with=other.label, data_order=f"{found.value:.6g}"))
    head = ("other", "time of this / of the other", "this is")
    return _table("In the rounds that both have, with 95 % intervals: for display, not a verdict", head, rows)


def _static(record: Record) -> Markup:
    """The compiler's figures, a row per target."""
    rows = [
        _row(
            "td",
            (
                target,
                fmt.exact_figure(figures.planned_bytes, TEMP_BYTES),
                fmt.exact_figure(figures.temp_bytes, TEMP_BYTES),
                fmt.exact_figure(figures.flops, FLOPS),
                figures.program or "none",
            ),
        )
        for target, figures in record.static.items()
    ]
    head = ("target", "planned in all", TEMP_BYTES.label, FLOPS.label, "program")
    return _table("What the compiler plans", head, rows)


def _origin(run: KeptRun, record: Record) -> Markup:
    """Where and of which code, with the facts of the machine and of its state that the run keeps."""
    machine = (run.info.get("fingerprints") or {}).get(record.fingerprint) or {}
    known = {**machine, **run.environments.get(record.environment or "", {})}
    lines = (
        f"run {record.run}, started {record.started}, {record.wall_s:.1f} s in all",
        *(
            f"{name}: {getattr(record, name) or 'unknown'}"
            for name in ("source", "fingerprint", "environment")
        ),
        *(f"{name}: {_plain(value)}" for name, value in known.items()),
    )
    return fold("machine and code", bullets(lines))


def _plain(value: object) -> str:
    """A fact of a machine, one that holds others in a line."""
    inner = cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}
    return ", ".join(f"{name} {_plain(part)}" for name, part in inner.items()) or str(value)


def _table(caption: str, head: Sequence[str], rows: Sequence[Markup]) -> Markup:
    if not rows:
        return Markup()
    parts = (element("caption", caption), element("thead", _row("th", head)), element("tbody", *rows))
    return element("table", *parts)


def _row(cell: str, texts: Sequence[str], **attributes: str) -> Markup:
    return element("tr", *(element(cell, text) for text in texts), **attributes)
