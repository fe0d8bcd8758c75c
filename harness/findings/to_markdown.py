"""A findings document as Markdown. Everything in it passes the cleaning function."""

from functools import lru_cache
from pathlib import Path

from harness.core.shown_text import clean_line, escape_markdown
from harness.findings.document import FindingsTable, Section, Slot
from harness.report.markdown_table import markdown_table
from harness.report.templates import fill, without_gaps

_escape = lru_cache(4096)(escape_markdown)  # most places of a large table say the same
TEMPLATE = Path(__file__).with_name("section.md.j2")


def to_markdown(section: Section, folder: str, suite: str = "") -> str:
    """The body of a section, or what it says of one suite. Charts lie in `folder`, as seen from the file."""
    parts = [part for part in section.parts if not suite or part.suite == suite]
    functions = {"table_lines": _table_lines, "fenced": _fenced}
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


def _fenced(command: str) -> str:
    """A line of code in a fence longer than any row of backticks in it: nothing of it can end the fence."""
    line, fence = clean_line(command), "```"
    while fence in line:
        fence += "`"
    return f"{fence}\n{line}\n{fence}"
