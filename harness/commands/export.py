"""`export`: a stored run for other programs: rows, or Markdown."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from harness.analysis.results import HOST
from harness.analysis.suite_results import SuiteResults, results_of
from harness.commands.output import print_note
from harness.commands.stored import read_run
from harness.core.errors import MachineError
from harness.core.record import Record
from harness.core.shown_text import clean_line, escape_markdown
from harness.core.typed_command import quick_notes
from harness.report.answer import OTHER, OTHER_CAPTION, answer, winner_line
from harness.report.memory_limit import limit_of
from harness.report.provenance import provenance
from harness.report.tables.cells import Cell
from harness.report.tables.suite import EXPONENTS, suite_table
from harness.report.tables.table_data import Footnotes, TableData
from harness.report.tables.targets import targets_table
from harness.report.templates import markdown_table
from harness.store.find import find

if TYPE_CHECKING:
    import pandas as pd

    from harness.analysis.filter import Selection
    from harness.sweep.project import Project


def export_rows(
    project: Project, name: str, selection: Selection, baseline: str | None, table: str, form: str
) -> bytes:
    """The rows of a run as csv or parquet; `table` is the method of RunFrames that gives them."""
    from harness.frames.load import RunFrames

    folder = find(project.results, name)
    for note in quick_notes(folder.readable_info([])):
        print_note(note)
    frame = getattr(RunFrames(folder.path, (folder,), selection, baseline, print_note), table)()
    return _csv(frame) if form == "csv" else _parquet(frame)


def _csv(frame: pd.DataFrame) -> bytes:
    """The frame as CSV: numbers with every digit, texts without control sequences."""
    texts = frame.select_dtypes(exclude=["number", "boolean", "datetimetz"])
    cleaned = {name: texts[name].map(clean_line, na_action="ignore") for name in texts}
    shown = frame.assign(**cleaned).rename(columns=clean_line)
    return shown.to_csv(index=False, lineterminator="\n").encode()


def _parquet(frame: pd.DataFrame) -> bytes:
    buffer = io.BytesIO()
    try:
        frame.to_parquet(buffer, engine="pyarrow", index=False)
    except ImportError:
        raise MachineError("--to parquet: needs pyarrow; pip install 'seqsweep[parquet]'") from None
    return buffer.getvalue()


def export_markdown(project: Project, name: str, selection: Selection, baseline: str | None) -> bytes:
    """The results of a run as Markdown, for a pull request."""
    stored = read_run(project, name, selection, baseline)
    return run_markdown(stored.info, stored.records, stored.problems).encode()


TIMED = ("seq", "implementation", "time", "95 %", "speedup", "status")
UNTIMED = ("seq", "implementation", "contract", "temp", "fits", "status")


def run_markdown(info: Mapping[str, Any], records: Sequence[Record], problems: Iterable[str] = ()) -> str:
    """The Markdown of a run, ending in a newline; `problems` are sentences on what could not be read."""
    parts = [f"> ! {escape_markdown(problem)}" for problem in (*quick_notes(info), *problems)]
    for suite in results_of(info, records):
        for panel in suite.panels.values():
            parts += _panel_parts(info, panel)
    parts.append(escape_markdown(provenance(records, info)))
    return "\n\n".join(filter(None, parts)) + "\n"


def _panel_parts(info: Mapping[str, Any], panel: SuiteResults) -> list[str]:
    timed = any(row.timed for row in panel.cases)
    if timed or not any(target != HOST for target in panel.compiled_targets):
        table = suite_table(panel)
    else:
        limits = {target: limit_of(info, panel.name, target) for target in panel.compiled_targets}
        table = targets_table(panel, limits)
    chosen = [i for i, column in enumerate(table.columns) if column.title in (TIMED if timed else UNTIMED)]
    lines = [line for line in (*answer(panel), winner_line(panel)) if line]
    captions = [
        table.caption.replace(EXPONENTS, "."),
        OTHER_CAPTION if any(OTHER in line for line in lines) else "",
    ]
    rows = [[row[i] for i in chosen] for row in table.rows]
    notes = Footnotes(cell for row in rows for cell in row)
    return [
        f"### {escape_markdown(table.title)}",
        "\n".join(f"- {escape_markdown(line)}" for line in lines),
        _table(table, chosen, rows, notes),
        *(escape_markdown(caption) for caption in captions),
        _details(notes),
    ]


def _table(table: TableData, chosen: Sequence[int], rows: Sequence[Sequence[Cell]], notes: Footnotes) -> str:
    columns = [table.columns[i] for i in chosen]
    titles = [escape_markdown(f"{column.group} {column.title}") for column in columns]
    rules = ["---:" if column.right else "---" for column in columns]
    return markdown_table(titles, [[_cell(cell, notes) for cell in row] for row in rows], rules)


def _cell(cell: Cell, notes: Footnotes) -> str:
    marks = ",".join(map(str, sorted(notes.numbers_of(cell))))
    return escape_markdown(cell.text) + (f"<sup>{marks}</sup>" if marks else "")


def _details(notes: Footnotes) -> str:
    if not notes.numbers:
        return ""
    lines = [f"{number}. {escape_markdown(sentence)}" for number, sentence in notes.lines()]
    return "\n".join(("<details><summary>Notes</summary>", "", *lines, "", "</details>"))
