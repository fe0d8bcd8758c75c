"""Pages from Jinja2 templates, stored next to the modules that fill them, and their Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Template


def fill(file: Path, escape: Callable[[str], str], **values: Any) -> str:
    """The text of a template with these values.

    Each value is escaped, except results of macros and values that the template marks as safe.
    """
    return _template(file, escape).render(values)


@lru_cache
def _template(file: Path, escape: Callable[[str], str]) -> Template:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    @lru_cache(4096)  # most cells of a large table repeat
    def escaped(text: str) -> Markup:
        return Markup(escape(text))  # noqa: S704 - the text is escaped here

    environment = Environment(
        loader=FileSystemLoader(file.parent),
        autoescape=True,
        finalize=lambda value: value if isinstance(value, Markup) else escaped(str(value)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(file.name)


def without_gaps(text: str) -> str:
    """Markdown with a single blank line between blocks, also where a block was omitted."""
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def markdown_table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = (titles, ["---"] * len(titles), *rows)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
