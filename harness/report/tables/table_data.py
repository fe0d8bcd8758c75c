"""A table as data, independent of a terminal: columns, cells with their footnotes, captions."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from harness.analysis.suite_results import CaseResult
from harness.report.tables.cells import Cell

Write = Callable[[CaseResult], Cell]


@dataclass(frozen=True)
class Column:
    """A column. Where the terminal is too narrow, those of the highest rank go first; rank 0 stays.

    `relative` columns need a baseline. A text that `folds` may take several lines; numbers never do.
    The `caption` stands below the tables where the column is shown, the lines of a `group` above the
    first of the columns side by side that have it. What is `ranged` grows with the length, so that rows of
    several lengths may share it as `first–last`.
    """

    title: str
    rank: int = 0
    right: bool = True
    relative: bool = False
    folds: bool = False
    caption: str = ""
    group: str = ""
    ranged: bool = False


@dataclass(frozen=True)
class TableData:
    """A table; `breaks` are the rows that begin a new length."""

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
        """Sections (names, rows): the names, such as a length, stand before the first of the rows alone."""
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
