"""The widths of a table's columns, each measured once, and the columns that fit a terminal."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from rich.cells import cell_len

from harness.core.ascii_text import to_ascii
from harness.report.format import ABSENT
from harness.report.tables.cells import Cell
from harness.report.tables.table_data import Column, TableData

GAP = 2
NOTHING = {"", ABSENT, to_ascii(ABSENT)}  # texts of a column that may be left out
_BREAK = re.compile(r" |(?=\[)")
Marks = Callable[[Cell], str]  # the numbers of a cell's footnotes, as they stand behind its text


@dataclass(frozen=True)
class ColumnMeasure:
    """One column's widths in characters, of its heading and of texts with the marks behind them.

    `whole` is the width with every text on one line, `folded` the width with texts broken wherever they
    may be. `heading` are the lines above it.
    """

    column: Column
    heading: tuple[str, ...]
    whole: int
    folded: int
    empty: bool

    @classmethod
    def of(
        cls, column: Column, cells: Sequence[Cell], heading: Sequence[str], marks_of: Marks
    ) -> "ColumnMeasure":
        texts = [text_width(cell.text) for cell in cells]
        marks = [len(marks_of(cell)) for cell in cells]
        above = max(map(text_width, heading))
        if column.right:  # the widest number keeps room for the widest marks, so that a mark moves no column
            inner = max(texts, default=0) + max(marks, default=0)
        else:
            inner = max((text + mark for text, mark in zip(texts, marks, strict=True)), default=0)
        whole = folded = max(inner, above)
        if column.folds:
            pieces = {piece for cell in cells for piece in _BREAK.split(cell.text + marks_of(cell))}
            folded = max(above, max(map(text_width, pieces), default=0))
        empty = all(cell.text in NOTHING for cell in cells)
        return cls(column, tuple(heading), whole, folded, empty)

    @property
    def absent(self) -> bool:
        """Whether the column is left out because nothing stands in it."""
        return self.empty and bool(self.column.rank)


class TableMeasures:
    """The measures of a table's columns, in their order."""

    def __init__(self, table: TableData, marks_of: Marks) -> None:
        self.table = table
        self._marks_of = marks_of

    @cached_property
    def columns(self) -> tuple[ColumnMeasure, ...]:
        columns = self.table.columns
        tallest = max(len(group_lines(column)) for column in columns)
        led: set[str] = set()
        measures: list[ColumnMeasure] = []
        for column, cells in zip(columns, zip(*self.table.rows, strict=True), strict=True):
            # A group's lines stand above the first of its columns that is there.
            above = group_lines(column) if column.group not in led else []
            heading = [*[""] * (tallest - len(above)), *above, column.title]
            measure = ColumnMeasure.of(column, cells, heading, self._marks_of)
            if not measure.absent:
                led.add(column.group)
            measures.append(measure)
        return tuple(measures)

    def columns_that_fit(self, width: int) -> list[int]:
        """The columns to draw: with content or of rank 0; where the width is short, the highest ranks go."""
        indices = [i for i, measure in enumerate(self.columns) if not measure.absent]
        for i in sorted(indices, key=lambda i: self.columns[i].column.rank, reverse=True):
            if self.slack(indices, width) >= 0 or not self.columns[i].column.rank:
                break
            indices.remove(i)
        return indices

    def slack(self, indices: Sequence[int], width: int) -> int:
        """Characters to spare when every text that may fold is folded."""
        return width - sum(self.columns[i].folded for i in indices) - GAP * (len(indices) - 1)

    def widths(self, indices: Sequence[int], width: int) -> list[int]:
        """The columns' widths in `width` characters: spare room unfolds texts, the first columns first.

        Where even folded columns are too wide, the widest give way.
        """
        spare = self.slack(indices, width)
        widths = [self.columns[i].folded for i in indices]
        for place, i in enumerate(indices):
            more = max(0, min(spare, self.columns[i].whole - widths[place]))
            widths[place] += more
            spare -= more
        while spare < 0 and max(widths) > 1:
            widths[widths.index(max(widths))] -= 1
            spare += 1
        return widths


def text_width(text: str) -> int:
    """A text's width in terminal cells."""
    return len(text) if text.isascii() else cell_len(text)


def group_lines(column: Column) -> list[str]:
    return column.group.split("\n") if column.group else []
