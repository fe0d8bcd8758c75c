"""The terminal that tables are printed on: styles are the harness's own, all other text is just text."""

import errno
import os
from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from harness.core.shown_text import clean_text

UNKNOWN_WIDTH = 80


class TextConsole(Console):
    """A rich console without markup and `:emoji:`, and without control characters but its own styles'."""

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, **options)
        if self.width < 1:  # COLUMNS=0: a terminal that does not know, and nothing would be printed
            self.width = UNKNOWN_WIDTH

    def on_broken_pipe(self) -> None:
        """Leave it to whoever prints: rich would end the program, and send standard output to nowhere."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        # All output passes here, and so does each part of a table before it is measured.
        for segment in super().render(renderable, options):
            text = (
                segment.text if segment.text == "\n" else clean_text(segment.text)
            )  # most of a long table's
            yield segment if segment.control else Segment(text, segment.style)
