"""A table as data, independent of a terminal: columns, cells, captions, and numbered footnotes."""

import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from harness.analysis.suite_results import CaseResult
from harness.report.tables.cells import Cell

Write = Callable[[CaseResult], Cell]


@dataclass(frozen=True)
class Column:
    """A column. On a narrow terminal, columns of the highest rank are dropped first; rank 0 stays.

    `relative` columns need a baseline. A text that `folds` may take several lines; numbers never do.
    The `caption` is below the tables if the column is shown. The lines of a `group` are above the first of
    its adjacent columns.
    """

    title: str
    rank: int = 0
    right: bool = True
    relative: bool = False
    folds: bool = False
    caption: str = ""
    group: str = ""


@dataclass(frozen=True)
class TableData:
    """A table; `breaks` are the rows that start a new length."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    breaks: tuple[int, ...] = ()
    caption: str = ""

    @classmethod
    def of_sections(
        cls,
        title: str,
        columns: Sequence[Column],
        sections: Iterable[tuple[Sequence[str], Iterable[Sequence[Cell | str]]]],
    ) -> "TableData":
        """A table of sections (names, rows); only the first row of a section shows its names."""
        rows: list[tuple[Cell, ...]] = []
        breaks: list[int] = []
        for names, lines in sections:
            breaks.append(len(rows))
            for place, line in enumerate(lines):
                texts = (*([""] * len(names) if place else names), *line)
                rows.append(tuple(Cell(text) if isinstance(text, str) else text for text in texts))
        return cls(title, tuple(columns), tuple(rows), tuple(breaks[1:]))


CASE = (Column("seq"), Column("implementation", right=False, folds=True))

Entry = tuple[Column, Write]

LONGEST_NOTE = 220
_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


class Footnotes:
    """The footnotes of cells in reading order: all sentences, or with `few` one per kind and cause.

    `numbers` maps sentences to their numbers. `left_out` are the sentences that no footnote of a kind covers.
    """

    def __init__(self, cells: Iterable[Cell], *, few: bool = False) -> None:
        self._few = few
        noted = [cell for cell in cells if cell.notes or cell.kinds]
        used = dict.fromkeys(note for cell in noted for note in self._of(cell))
        self.numbers = {note: place for place, note in enumerate(used, 1)}
        others = (note for cell in noted for note in cell.notes if not any(note in k for k in cell.kinds))
        self.left_out = dict.fromkeys(others) if few else {}

    def numbers_of(self, cell: Cell) -> list[int]:
        return [self.numbers[note] for note in self._of(cell)]

    def marked(self, cell: Cell) -> str:
        """The cell's text followed by its footnote numbers: `1.42 ms¹,¹²`."""
        numbers = self.numbers_of(cell) if cell.notes or cell.kinds else ()
        return cell.text + superscripts(numbers) if numbers else cell.text

    def _of(self, cell: Cell) -> Iterable[str]:
        """A cell's footnotes as shown, each once."""
        notes = (
            (f"{kind}: {cause}" if cause else kind for kind, cause in cell.kinds) if self._few else cell.notes
        )
        return dict.fromkeys(map(shorten, notes))


def superscripts(numbers: Iterable[int]) -> str:
    return ",".join(map(str, numbers)).translate(_SUPERSCRIPTS)


@lru_cache(4096)  # cases share sentences, and a run has hundreds of thousands of cells
def shorten(sentence: str) -> str:
    return textwrap.shorten(sentence, LONGEST_NOTE, placeholder=" …")
