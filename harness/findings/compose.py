"""The findings document of stored runs: which section says what, and the marked blocks of a page of it."""

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
from harness.findings.document import Document, FindingsTable, Part, Picture, Section, Slot
from harness.findings.kept_run import KeptRun, errors_part, method_part, replay_part
from harness.findings.panel_verdict import PanelVerdict, figures_part, time_slots
from harness.profile.report import NO_STAGE, sentences
from harness.profile.stage_times import ProfiledCase, StageTime, profiled_series
from harness.report.format import short_label
from harness.report.tables.bounds_table import bound_lines
from harness.report.tables.compare_runs import answer_of, by_panel, sentence
from harness.report.tables.kernels import kernel_lines
from harness.report.tables.owners_table import longest_owned
from harness.report.templates import fill, markdown_table, without_gaps

NO_DEVICE = Slot(empty="no device", reason="compiled for it here, and timed nowhere")
NOT_TIMED = Slot(empty="not timed", reason="this run compiled and ran nothing")


def machine_parts(runs: Sequence[KeptRun]) -> Iterable[Part]:
    """Per panel that the runs have on several fingerprints, what the machines say."""
    swept = [suite for run in runs if run.depth == "run" for suite in run.suites]
    if len({record.fingerprint for suite in swept for record in suite.records}) < 2:
        return
    shared = [found for found in machine_speedups(swept) if len(found.machines) > 1]
    for (suite, name), panel in by_panel(shared).items():
        yield Part(suite, f"{suite}: {name}, on several machines", sentence(answer_of(panel)))


def profile_parts(run: KeptRun) -> Iterable[Part]:
    """Per profiled series, what its profile says, and the stages of its longest call."""
    for cases in profiled_series(run.records).values():
        longest = cases[-1]
        rows = tuple(_stage_row(run, longest, entry) for entry in longest.stages)
        table = FindingsTable(("stage", "time", "95 %", "share of the call", "record"), rows)
        said = f"{label_of(longest.record)}, {longest.record.mode} on {longest.record.device}"
        yield Part(longest.record.family, said, sentences=tuple(sentences(cases)), table=table)


def _stage_row(run: KeptRun, case: ProfiledCase, entry: StageTime) -> tuple[Slot, ...]:
    share = entry.share.value
    whole = Slot(empty="no share") if share is None else Slot(f"{100 * share:.1f} %")
    record = Slot(run.name_records([case.record]))
    return Slot(entry.stage or NO_STAGE), *time_slots(entry.time), whole, record


def plans_part(judged: PanelVerdict) -> Part | None:
    """Per target and implementation, the longest length that fits, with its plan.

    Beside it the owners of its peak, the figures of kernels, and the bounds by documented rates, where they
    were asked for. None for the host alone without owners.
    """
    run, panel = judged.run, judged.panel
    targets, owned = panel.compiled_targets, tuple(longest_owned(panel))
    if not owned and not any(target != HOST for target in targets):
        return None
    labels = [label for label in panel.implementations if label in panel.by_label]
    records = Slot(run.name_records(panel.records))
    rows: list[tuple[Slot, ...]] = []
    for target in targets:
        cases = panel.cases_on(target)
        plans = [_plan([row for row in cases if row.label == label]) for label in labels]
        time = NO_DEVICE if target != HOST else NOT_TIMED
        rows.append((Slot(target), *plans, time, records if not rows else Slot("as above")))
    columns = ("target", *map(short_label, labels), "time", "records")
    caption = (
        "“16Ki, not 64Ki: 8 GiB”: 16Ki is the longest length compiled whose plan, 8 GiB, fits, and 64Ki "
        "the next, which does not fit; ≥: the longest compiled fits; <: the shortest does not."
    )
    table = FindingsTable(columns, tuple(rows), caption)
    kernels = (line for target in targets for line in kernel_lines(panel, target))
    said = (*owned, *kernels, *bound_lines(panel))
    return Part(panel.name, judged.heading, sentences=said, table=table)


def _plan(rows: list[CaseResult]) -> Slot:
    """`64Ki, not 128Ki: 8.2 GiB`; `≥ 128Ki: …` where every length fits."""
    known = [(row.seq, row.static) for row in rows if row.static and row.static.fits is not None]
    fitting = [(seq, static) for seq, static in known if static.fits]
    beyond = next((seq for seq, static in known if not static.fits), None)
    if not known:
        why = next((row.static.unavailable.get("temp_bytes", "") for row in rows if row.static), "")
        return Slot(empty="not compiled", reason=why)
    if not fitting:
        return Slot(f"< {format_count(known[0][0])}")
    seq, static = fitting[-1]
    plan = static.planned_bytes
    text = f"{format_count(seq)}, not {format_count(beyond)}" if beyond else f"≥ {format_count(seq)}"
    return Slot(text + (f": {format_bytes(plan)}" if plan is not None else ""))


TITLES = {
    "verdict": "What was found",
    "chart": "Charts",
    "table": "Every case",
    "replay": "How to replay it",
    "errors": "Known errors of the data",
    "profile": "Where the time goes",
    "plans": "Plans for devices that are absent",
    "claims": "Published claims that do not hold",
    "method": "Machine, noise, method",
}
NO_ERRORS = Part(sentences=("None is known. A notes.md in a run's folder would stand here.",))


def compose(
    runs: Sequence[KeptRun], claims: Part | None = None, lock: Path | None = None, *, charts: bool = True
) -> Document:
    """The document; `lock` is the file that pins versions. Sections without anything to say are left out.

    `claims` is the part about published claims of the runs' families. Charts are drawn where asked for.
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
    return Document(tuple(Section(key, TITLES[key], said) for key, said in sections if said))


def _charts(timed: Sequence[PanelVerdict]) -> Iterable[Part]:
    """A speedup chart of every suite that has speedups, a latency chart of the others."""
    from harness.report.charts import draw_suite

    names: set[str] = set()
    for run, name in dict.fromkeys((judged.run, judged.panel.name) for judged in timed):
        suite = next(suite for suite in run.suites if suite.name == name)
        compared = any(c.speedup is not None for c in suite.comparisons)
        kind = "speedup" if compared else "latency"
        says = f"{name}: speedup over {short_label(suite.baseline)}" if compared else f"{name}: latency"
        stem = file_name(name)
        file = f"{stem}-{kind}.svg" if stem not in names else f"{stem}-{kind}-{run.info.get('run')}.svg"
        names.add(stem)
        yield Part(name, picture=Picture(file, draw_suite(suite, run.info, kinds=(kind,))[kind], says))


END = "end"
NOTHING = "*The records say nothing of it.*"
_MARK = re.compile(r"^<!-- seqsweep:[a-z]+(?: [^\s>]+)? -->[ \t]*$", re.MULTILINE)
_BLOCK = re.compile(
    r"^(?P<mark><!-- seqsweep:(?!end )(?P<key>[a-z]+)(?: (?P<suite>[^\s>]+))? -->)[ \t]*\n"
    r"(?:(?!<!-- seqsweep:).*\n)*?<!-- seqsweep:end -->(?=[ \t]*$)",
    re.MULTILINE,
)
_CRLF = "\r\n"
_escape = lru_cache(4096)(escape_markdown)  # most places of a large table say the same
TEMPLATE = Path(__file__).with_name("section.md.j2")


def whole_page(document: Document, title: str, folder: str) -> str:
    """A file of its own: every section in a marked block, under its title."""
    parts = [f"# {title}"]
    for section in document.sections:
        parts += [f"## {section.title}", f"{_mark(section.key)}\n{_mark(END)}"]
    return fill_blocks("\n\n".join(parts) + "\n", document, folder, title)


def fill_blocks(text: str, document: Document, folder: str, name: str) -> str:
    """`text` with every marked block filled anew; all else stays as it is, its line endings too.

    UsageError, with its line, for an unknown or unpaired mark.
    """
    if text.count("\n") == text.count(_CRLF) > 0:
        filled = fill_blocks(text.replace(_CRLF, "\n"), document, folder, name)
        return filled.replace("\n", _CRLF)
    sections = {section.key: section for section in document.sections}
    rest = _BLOCK.sub(lambda block: "\n" * block[0].count("\n"), text)
    if odd := _MARK.search(rest):
        where = f"{name}:{rest.count(chr(10), 0, odd.start()) + 1}"
        raise UsageError(f"{where}: a block has one mark such as {_mark('verdict')} and then {_mark(END)}")
    if rest == text:
        raise UsageError(f"{name}: has no block to fill; mark one with {_mark('verdict')} and {_mark(END)}")

    def fill_block(block: re.Match[str]) -> str:
        key = block["key"]
        if key not in TITLES:
            where = f"{name}:{text.count(chr(10), 0, block.start()) + 1}"
            raise UsageError(f'{where}: no section "{key}"{nearest(key, TITLES)}')
        section = sections.get(key)
        said = (to_markdown(section, folder, block["suite"] or "") if section else "") or NOTHING
        return f"{block['mark']}\n\n{said}\n\n{_mark(END)}"

    return _BLOCK.sub(fill_block, text)


def _mark(key: str) -> str:
    return f"<!-- seqsweep:{key} -->"


def to_markdown(section: Section, folder: str, suite: str = "") -> str:
    """The body of a section, or what it says of one suite. Charts lie in `folder`, as seen from the file."""
    parts = [part for part in section.parts if not suite or part.suite == suite]
    functions = {"table_lines": _table_lines, "fenced": _fence}
    return without_gaps(fill(TEMPLATE, escape_markdown, parts=parts, folder=folder, **functions))


def _table_lines(table: FindingsTable, reasons: dict[str, int]) -> str:
    """The lines of a table, here and not in the template because it may have a hundred thousand."""
    titles = list(map(escape_markdown, table.columns))
    return markdown_table(titles, [[_place(slot, reasons) for slot in row] for row in table.rows])


def _place(slot: Slot, reasons: dict[str, int]) -> str:
    """A figure, or `*none: oom*`: an empty place is never left blank. Reasons are numbered."""
    text = f"*none: {_escape(slot.empty)}*" if slot.empty else _escape(slot.text)
    if not slot.reason:
        return text
    return f"{text}<sup>{reasons.setdefault(slot.reason, len(reasons) + 1)}</sup>"


def _fence(command: str) -> str:
    """A line of code in a fence longer than any row of backticks in it: nothing of it can end the fence."""
    line, fence = clean_line(command), "```"
    while fence in line:
        fence += "`"
    return f"{fence}\n{line}\n{fence}"
