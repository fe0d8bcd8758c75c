"""Pages from Jinja2 templates, which lie beside the modules that fill them, and their Markdown."""

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

    Each value is escaped for the place that it is put into, except what a macro returns or the template calls
    safe.
    """
    return _template(file, escape).render(values)


@lru_cache
def _template(file: Path, escape: Callable[[str], str]) -> Template:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    @lru_cache(4096)  # most places of a large table say the same
    def escaped(text: str) -> Markup:
        return Markup(escape(text))  # noqa: S704 - this is where it becomes safe

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
    """Markdown with a single blank line between blocks, whatever omitted blocks have left behind."""
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def markdown_table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """The lines of a table."""
    lines = (titles, ["---"] * len(titles), *rows)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
