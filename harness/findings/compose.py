"""Findings document of stored runs: composes its sections, and fills the marked blocks of a page."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path

from harness.analysis.machine_speedups import machine_speedups
from harness.analysis.results import HOST, label_of
from harness.analysis.suite_results import CaseResult
from harness.core.errors import UsageError, nearest
from harness.core.shown_text import clean_line, escape_markdown, file_name
from harness.core.units import format_bytes, format_count
from harness.findings.document import Document, FindingsTable, Part, Picture, Section, TableCell
from harness.findings.findings_run import FindingsRun, errors_part, method_part, replay_part
from harness.findings.panel_verdict import PanelVerdict, figures_part, time_cells
from harness.profile.report import NO_STAGE, sentences
from harness.profile.stage_times import ProfiledCase, StageTime, profiled_series
from harness.report.format import short_label
from harness.report.tables.bounds_table import bound_lines
from harness.report.tables.compare_runs import answer_of, by_panel, sentence
from harness.report.tables.kernels import kernel_lines
from harness.report.tables.owners_table import longest_owned
from harness.report.templates import fill, markdown_table, without_gaps

NO_DEVICE = TableCell(empty="no device", reason="compiled here for this device, but not timed")
NOT_TIMED = TableCell(empty="not timed", reason="this run only compiled its cases")


def machine_parts(runs: Sequence[FindingsRun]) -> Iterable[Part]:
    """Parts on the panels that were run on several machines."""
    swept = [suite for run in runs if run.depth == "run" for suite in run.suites]
    if len({record.fingerprint for suite in swept for record in suite.records}) < 2:
        return
    shared = [found for found in machine_speedups(swept) if len(found.machines) > 1]
    for (suite, name), panel in by_panel(shared).items():
        yield Part(suite, f"{suite}: {name}, on several machines", sentence(answer_of(panel)))


def profile_parts(run: FindingsRun) -> Iterable[Part]:
    """Parts on profiled series: sentences, and the stages of the longest call."""
    for cases in profiled_series(run.records).values():
        longest = cases[-1]
        rows = tuple(_stage_row(run, longest, entry) for entry in longest.stages)
        table = FindingsTable(("stage", "time", "95 %", "share of the call", "record"), rows)
        heading = f"{label_of(longest.record)}, {longest.record.mode} on {longest.record.device}"
        yield Part(longest.record.family, heading, sentences=tuple(sentences(cases)), table=table)


def _stage_row(run: FindingsRun, case: ProfiledCase, entry: StageTime) -> tuple[TableCell, ...]:
    share = entry.share.value
    whole = TableCell(empty="no share") if share is None else TableCell(f"{100 * share:.1f} %")
    record = TableCell(run.name_records([case.record]))
    return TableCell(entry.stage or NO_STAGE), *time_cells(entry.time), whole, record


def plans_part(judged: PanelVerdict) -> Part | None:
    """Part on the longest length that fits each target, per implementation, with its planned memory.

    It also has buffer breakdowns, figures of kernels and bounds by documented rates, if they were requested.
    None if the only target is the host and there is no buffer breakdown.
    """
    run, panel = judged.run, judged.panel
    targets, owned = panel.compiled_targets, tuple(longest_owned(panel))
    if not owned and not any(target != HOST for target in targets):
        return None
    labels = [label for label in panel.implementations if label in panel.by_label]
    records = TableCell(run.name_records(panel.records))
    rows: list[tuple[TableCell, ...]] = []
    for target in targets:
        cases = panel.cases_on(target)
        plans = [_plan([row for row in cases if row.label == label]) for label in labels]
        time = NO_DEVICE if target != HOST else NOT_TIMED
        rows.append((TableCell(target), *plans, time, records if not rows else TableCell("as above")))
    columns = ("target", *map(short_label, labels), "time", "records")
    caption = (
        "“16Ki, not 64Ki: 8 GiB”: 16Ki is the longest compiled length that fits, with 8 GiB planned; 64Ki is "
        "the next and does not fit. ≥: the longest compiled length fits. <: the shortest does not fit."
    )
    table = FindingsTable(columns, tuple(rows), caption)
    kernels = (line for target in targets for line in kernel_lines(panel, target))
    lines = (*owned, *kernels, *bound_lines(panel))
    return Part(panel.name, judged.heading, sentences=lines, table=table)


def _plan(rows: list[CaseResult]) -> TableCell:
    """`64Ki, not 128Ki: 8.2 GiB`; `≥ 128Ki: …` if every length fits."""
    known = [(row.seq, row.static) for row in rows if row.static and row.static.fits is not None]
    fitting = [(seq, static) for seq, static in known if static.fits]
    beyond = next((seq for seq, static in known if not static.fits), None)
    if not known:
        why = next((row.static.unavailable.get("temp_bytes", "") for row in rows if row.static), "")
        return TableCell(empty="not compiled", reason=why)
    if not fitting:
        return TableCell(f"< {format_count(known[0][0])}")
    seq, static = fitting[-1]
    plan = static.planned_bytes
    text = f"{format_count(seq)}, not {format_count(beyond)}" if beyond else f"≥ {format_count(seq)}"
    return TableCell(text + (f": {format_bytes(plan)}" if plan is not None else ""))


TITLES = {
    "verdict": "Results",
    "chart": "Charts",
    "table": "All cases",
    "replay": "How to reproduce",
    "errors": "Known errors in the data",
    "profile": "Time by stage",
    "plans": "Planned memory on absent devices",
    "claims": "Contradicted published claims",
    "method": "Machine, noise and method",
}
NO_ERRORS = Part(sentences=("No errors are known. They are read from notes.md in a run's folder.",))


def compose(
    runs: Sequence[FindingsRun], claims: Part | None = None, lock: Path | None = None, *, charts: bool = True
) -> Document:
    """Compose the document, without empty sections. `lock` is the file that pins versions.

    `claims` is the part on published claims about the runs' families. Charts are drawn if `charts` is set.
    """
    swept = [PanelVerdict(run, panel) for run in runs if run.depth != "profile" for panel in run.panels]
    timed = [judged for judged in swept if any(row.timed for row in judged.panel.cases)]
    parts: dict[str, list[Part | None]] = {
        "verdict": [*machine_parts(runs), *(judged.verdict_part() for judged in timed)],
        "chart": list(_charts(timed)) if charts else [],
        "table": list(map(figures_part, timed)),
        "replay": [replay_part(run, lock) for run in runs],
        "errors": [*filter(None, map(errors_part, runs))] or [NO_ERRORS],
        "profile": list(chain.from_iterable(map(profile_parts, runs))),
        "plans": list(map(plans_part, swept)),
        "claims": [claims],
        "method": [method_part(runs)],
    }
    sections = ((key, tuple(part for part in parts[key] if part is not None)) for key in TITLES)
    return Document(tuple(Section(key, TITLES[key], present) for key, present in sections if present))


def _charts(timed: Sequence[PanelVerdict]) -> Iterable[Part]:
    """Parts with a speedup chart for every suite that has speedups, else a latency chart."""
    from harness.report.charts import draw_suite

    names: set[str] = set()
    for run, name in dict.fromkeys((judged.run, judged.panel.name) for judged in timed):
        suite = next(suite for suite in run.suites if suite.name == name)
        compared = any(c.speedup is not None for c in suite.comparisons)
        kind = "speedup" if compared else "latency"
        text = f"{name}: speedup over {short_label(suite.baseline)}" if compared else f"{name}: latency"
        stem = file_name(name)
        file = f"{stem}-{kind}.svg" if stem not in names else f"{stem}-{kind}-{run.info.get('run')}.svg"
        names.add(stem)
        yield Part(name, picture=Picture(file, draw_suite(suite, run.info, kinds=(kind,))[kind], text))


END = "end"
NOTHING = "*The records have no data for this section.*"
_MARK = re.compile(r"^<!-- seqsweep:[a-z]+(?: [^\s>]+)? -->[ \t]*$", re.MULTILINE)
_BLOCK = re.compile(
    r"^(?P<mark><!-- seqsweep:(?!end )(?P<key>[a-z]+)(?: (?P<suite>[^\s>]+))? -->)[ \t]*\n"
    r"(?:(?!<!-- seqsweep:).*\n)*?<!-- seqsweep:end -->(?=[ \t]*$)",
    re.MULTILINE,
)
_CRLF = "\r\n"
_escape = lru_cache(4096)(escape_markdown)  # most cells of a large table have equal text
TEMPLATE = Path(__file__).with_name("section.md.j2")


def whole_page(document: Document, title: str, folder: str) -> str:
    """A new page, with every section in a marked block under its title."""
    parts = [f"# {title}"]
    for section in document.sections:
        parts += [f"## {section.title}", f"{_mark(section.key)}\n{_mark(END)}"]
    return fill_blocks("\n\n".join(parts) + "\n", document, folder, title)


def fill_blocks(text: str, document: Document, folder: str, name: str) -> str:
    """`text` with the content of every marked block replaced. All other text and line endings are unchanged.

    UsageError, with its line, for an unknown or unpaired mark.
    """
    if text.count("\n") == text.count(_CRLF) > 0:
        filled = fill_blocks(text.replace(_CRLF, "\n"), document, folder, name)
        return filled.replace("\n", _CRLF)
    sections = {section.key: section for section in document.sections}
    rest = _BLOCK.sub(lambda block: "\n" * block[0].count("\n"), text)
    if odd := _MARK.search(rest):
        where = f"{name}:{rest.count(chr(10), 0, odd.start()) + 1}"
        raise UsageError(f"{where}: unpaired mark; write a block as {_mark('verdict')}, then {_mark(END)}")
    if rest == text:
        raise UsageError(f"{name}: no block to fill; mark one with {_mark('verdict')} and {_mark(END)}")

    def fill_block(block: re.Match[str]) -> str:
        key = block["key"]
        if key not in TITLES:
            where = f"{name}:{text.count(chr(10), 0, block.start()) + 1}"
            raise UsageError(f'{where}: no section "{key}"{nearest(key, TITLES)}')
        section = sections.get(key)
        body = (to_markdown(section, folder, block["suite"] or "") if section else "") or NOTHING
        return f"{block['mark']}\n\n{body}\n\n{_mark(END)}"

    return _BLOCK.sub(fill_block, text)


def _mark(key: str) -> str:
    return f"<!-- seqsweep:{key} -->"


def to_markdown(section: Section, folder: str, suite: str = "") -> str:
    """Body of a section, or of its parts on one suite. `folder` of charts is relative to the file."""
    parts = [part for part in section.parts if not suite or part.suite == suite]
    functions = {"table_lines": _table_lines, "fenced": _fence}
    return without_gaps(fill(TEMPLATE, escape_markdown, parts=parts, folder=folder, **functions))


def _table_lines(table: FindingsTable, reasons: dict[str, int]) -> str:
    """Lines of a table. They are not made by the template, because there may be a hundred thousand."""
    titles = list(map(escape_markdown, table.columns))
    return markdown_table(titles, [[_cell_text(cell, reasons) for cell in row] for row in table.rows])


def _cell_text(cell: TableCell, reasons: dict[str, int]) -> str:
    """A figure, or `*none: oom*` for an empty cell, with the number of its reason."""
    text = f"*none: {_escape(cell.empty)}*" if cell.empty else _escape(cell.text)
    if not cell.reason:
        return text
    return f"{text}<sup>{reasons.setdefault(cell.reason, len(reasons) + 1)}</sup>"


def _fence(command: str) -> str:
    """A fenced line of code. The fence is longer than any backticks in the line, so they cannot end it."""
    line, fence = clean_line(command), "```"
    while fence in line:
        fence += "`"
    return f"{fence}\n{line}\n{fence}"
