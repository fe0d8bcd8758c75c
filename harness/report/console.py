"""The terminal for tables: only the harness sets styles, and all other text is printed as it is."""

import errno
import os
from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from harness.core.shown_text import clean_text

UNKNOWN_WIDTH = 80


class TextConsole(Console):
    """A rich console without markup, `:emoji:`, and control characters other than those of its styles."""

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, **options)
        if self.width < 1:  # COLUMNS=0: the terminal does not know its width, and rich would print nothing
            self.width = UNKNOWN_WIDTH

    def on_broken_pipe(self) -> None:
        """Raise BrokenPipeError for the caller; rich would end the program and redirect standard output."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        # All output passes through here, including each part of a table before it is measured.
        for segment in super().render(renderable, options):
            text = segment.text if segment.text == "\n" else clean_text(segment.text)  # "\n": for speed
            yield segment if segment.control else Segment(text, segment.style)
