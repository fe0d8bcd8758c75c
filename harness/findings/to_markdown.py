"""A findings document as Markdown. Everything in it passes the cleaning function."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from urllib.parse import quote

from harness.core.shown_text import clean_line, escape_markdown
from harness.findings.document import FindingsTable, Part, Section, Slot
from harness.report.markdown_table import markdown_table

_escape = lru_cache(4096)(escape_markdown)  # of a hundred thousand rows most places say the same


def to_markdown(section: Section, folder: str, suite: str = "") -> str:
    """The body of a section, or what it says of one suite. Charts lie in `folder`, as seen from the file."""
    parts = [part for part in section.parts if not suite or part.suite == suite]
    return "\n\n".join(_part(part, folder) for part in parts)


def _part(part: Part, folder: str) -> str:
    bullets = [f"- **{escape_markdown(part.lead)}**"] if part.lead else []
    bullets += [f"- {escape_markdown(sentence)}" for sentence in part.sentences]
    pieces = [
        f"**{escape_markdown(part.heading)}**" if part.heading else "",
        "\n".join(bullets),
        _table(part.table) if part.table else "",
        f"![{escape_markdown(part.picture.says)}]({folder}/{quote(part.picture.name)})"
        if part.picture
        else "",
        # A fence longer than any row of backticks in the line: nothing of it can end the fence.
        _fenced(clean_line(part.command)) if part.command else "",
    ]
    return "\n\n".join(filter(None, pieces))


def _fenced(line: str) -> str:
    fence = "```"
    while fence in line:
        fence += "`"
    return f"{fence}\n{line}\n{fence}"


def _table(table: FindingsTable) -> str:
    reasons: dict[str, int] = {}
    titles = list(map(escape_markdown, table.columns))
    lines = markdown_table(titles, [[_place(slot, reasons) for slot in row] for row in table.rows])
    below = [escape_markdown(table.caption)] if table.caption else []
    return "\n\n".join([lines, *below, *_notes(list(reasons))])


def _place(slot: Slot, reasons: dict[str, int]) -> str:
    """A figure, or `*none: oom*`: an empty place is never left blank. Reasons are numbered below."""
    text = f"*none: {_escape(slot.empty)}*" if slot.empty else _escape(slot.text)
    if not slot.reason:
        return text
    return f"{text}<sup>{reasons.setdefault(slot.reason, len(reasons) + 1)}</sup>"


def _notes(reasons: Sequence[str]) -> list[str]:
    if not reasons:
        return []
    lines = "\n".join(f"{number}. {escape_markdown(reason)}" for number, reason in enumerate(reasons, 1))
    return [f"<details><summary>Notes</summary>\n\n{lines}\n\n</details>"]
