"""Marked blocks of a Markdown file: what stands between the marks is made from records, the rest is prose.

`<!-- seqsweep:verdict -->` begins a block, `<!-- seqsweep:table attention -->` one of a single suite, and
`<!-- seqsweep:end -->` ends it. Everything in a block passes the cleaning function.
"""

import re
from functools import lru_cache
from pathlib import Path

from harness.core.errors import UsageError, nearest
from harness.core.shown_text import clean_line, escape_markdown
from harness.findings.compose import TITLES
from harness.findings.document import Document, FindingsTable, Section, Slot
from harness.report.templates import fill, markdown_table, without_gaps

END = "end"
NOTHING = "*The records say nothing of it.*"
_MARK = re.compile(r"^<!-- seqsweep:([a-z]+)(?: ([^\s>]+))? -->[ \t\r]*$", re.MULTILINE)
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
    pieces: list[str] = []
    at, opened = 0, None
    for mark in _MARK.finditer(text):
        key, suite = mark[1], mark[2] or ""
        where = f"{name}:{text.count(chr(10), 0, mark.start()) + 1}"
        if key == END:
            if opened is None:
                raise UsageError(f"{where}: {_mark(END)} ends no block; remove it")
            pieces.append(f"{opened}\n\n")
            at, opened = mark.start(), None
            continue
        if opened is not None:
            raise UsageError(f"{where}: the block above has no {_mark(END)}; add it")
        if key not in TITLES:
            raise UsageError(f'{where}: no section "{key}"{nearest(key, TITLES)}')
        pieces += [text[at : mark.end()], "\n\n"]
        section = sections.get(key)
        opened = (to_markdown(section, folder, suite) if section else "") or NOTHING
    if opened is not None:
        raise UsageError(f"{name}: its last block has no {_mark(END)}; add it")
    if not pieces:
        raise UsageError(f"{name}: has no block to fill; mark one with {_mark('verdict')} and {_mark(END)}")
    return "".join([*pieces, text[at:]])


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
