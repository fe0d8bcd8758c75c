"""A findings document as Markdown. Everything in it passes the cleaning function."""

from __future__ import annotations

from pathlib import Path

from harness.core.shown_text import clean_line, escape_markdown
from harness.findings.document import Section
from harness.report.templates import fill, without_gaps

TEMPLATE = Path(__file__).with_name("section.md.j2")


def to_markdown(section: Section, folder: str, suite: str = "") -> str:
    """The body of a section, or what it says of one suite. Charts lie in `folder`, as seen from the file."""
    parts = [part for part in section.parts if not suite or part.suite == suite]
    return without_gaps(fill(TEMPLATE, escape_markdown, parts=parts, folder=folder, fenced=_fenced))


def _fenced(command: str) -> str:
    """A line of code in a fence longer than any row of backticks in it: nothing of it can end the fence."""
    line, fence = clean_line(command), "```"
    while fence in line:
        fence += "`"
    return f"{fence}\n{line}\n{fence}"
