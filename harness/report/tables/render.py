"""Rendering tables on a terminal: columns that fit, aligned numbers, footnotes in order.

Lines are put together here rather than by rich's tables: those take a tenth of a millisecond for every cell,
and a run has hundreds of thousands. Rich breaks what is too long for one line, and colours.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import zip_longest

from rich.cells import cell_len
from rich.console import Console, Group
from rich.text import Text

from harness.core.grouped import collected
from harness.core.shown_text import spell_out, to_ascii
from harness.report.format import ABSENT
from harness.report.tables.cells import Cell
from harness.report.tables.table_data import Column, Footnotes, TableData, shorten

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


Part = str | Text | tuple[str, str]  # as Text.assemble takes them
Line = tuple[Sequence[Part], int]  # what stands in a column on one line, and how wide it is


@dataclass(frozen=True)
class Page:
    """One panel: the lines below the heading of its first table, and its tables."""

    tables: tuple[TableData, ...]
    lines: tuple[str, ...] = ()


Fitted = tuple[TableMeasures, list[int]]  # a table and the columns of it that are drawn


@dataclass
class Legend:
    """The legend below tables: captions, why columns are missing, which were too wide."""

    captions: dict[str, None] = field(default_factory=dict[str, None])
    missing: dict[str, dict[Column, None]] = field(default_factory=dict[str, dict[Column, None]])
    narrow: list[Column] = field(default_factory=list[Column])
    left_out: int = 0

    def add(self, tables: Sequence[TableData], shown: Sequence[Fitted]) -> None:
        self.captions.update({table.caption: None for table in tables if table.caption and table.rows})
        for measures, indices in shown:
            for i, measure in enumerate(measures.columns):
                notes = dict.fromkeys(shorten(note) for row in measures.table.rows for note in row[i].notes)
                if i in indices:
                    self.captions.update({measure.column.caption: None} if measure.column.caption else {})
                elif not measure.empty:
                    self.narrow.append(measure.column)
                elif notes:
                    self.missing.setdefault("; ".join(notes), {})[measure.column] = None

    def print(self, console: Console) -> None:
        missing = (f"No {_titles(columns)}: {why}." for why, columns in self.missing.items())
        for line in (*self.captions, *missing):
            console.print(Text(line, style="dim"))
        if self.left_out:
            console.print(Text(f"--notes shows {self.left_out} more footnotes.", style="dim"))
        if self.narrow:
            titles = _titles(dict.fromkeys(self.narrow))
            console.print(Text(f"Too narrow for: {titles}; --json has them.", style="dim"))


def print_tables(console: Console, *tables: TableData) -> None:
    """Print the tables of one panel, one below the other, then the footnotes of all."""
    legend = Legend()
    print_pages(console, [Page(tables)], legend)
    legend.print(console)
    console.print()


def print_pages(console: Console, pages: Sequence[Page], legend: Legend, *, few: bool = False) -> bool:
    """Print panels one below the other, then their footnotes, or with `few` one for each kind of them.

    Adds what belongs into the legend to it. Returns whether any cell has a footnote.
    """
    if ascii_only := console.options.ascii_only:
        pages = spell_out(tuple(pages))
    tables = [table for page in pages for table in page.tables]
    cells = (cell for table in tables for row in table.rows for cell in row)
    notes = Footnotes(cells, few=few, ascii_only=ascii_only)
    shown: list[list[Fitted]] = []
    for page in pages:
        measured = [TableMeasures(table, notes.marks) for table in page.tables if table.rows]
        fitted = [(measures, measures.columns_that_fit(console.width)) for measures in measured]
        shown.append([entry for entry in fitted if len(entry[1]) > 1])  # names alone say nothing
    any_noted = bool(notes.numbers)
    notes.restrict(cell for page in shown for measures, at in page for cell in _cells(measures.table, at))
    for page, fitted in zip(pages, shown, strict=True):
        for place, (measures, indices) in enumerate(fitted):
            if measures.table.title:
                console.print(Text(measures.table.title, style="bold"))
            if place == 0 and page.lines:
                console.print(Text("\n".join(page.lines)))
                console.print()
            console.print(Group(*_table_lines(console, measures, indices, notes.marks)))
            console.print()
        legend.add(page.tables, fitted)
    legend.left_out += len(notes.left_out)
    if notes.numbers:
        console.print(Group(*_note_lines(console, notes)))
    return any_noted


def _table_lines(
    console: Console, measures: TableMeasures, indices: Sequence[int], marks: Marks
) -> Iterator[Text]:
    """The columns of a table at `indices`; `marks` are the numbers that a cell's footnotes are shown by."""
    columns = [(i, measures.columns[i]) for i in indices]
    widths = measures.widths(indices, console.width)
    rights = [measure.column.right for _, measure in columns]
    for titles in zip(*(measure.heading for _, measure in columns), strict=True):
        heads = [_fit(Text(title, "bold"), width) for title, width in zip(titles, widths, strict=True)]
        yield _line(heads, widths, rights)
    yield Text("─" * (sum(widths) + GAP * (len(widths) - 1)))
    breaks = frozenset(measures.table.breaks)
    for number, row in enumerate(measures.table.rows):
        if number in breaks:
            yield Text()
        cells = [
            _cell_lines(console, row[i], marks(row[i]), width, folds=measure.column.folds)
            for (i, measure), width in zip(columns, widths, strict=True)
        ]
        for line in zip_longest(*cells, fillvalue=((), 0)):
            yield _line(line, widths, rights)


def _cell_lines(console: Console, cell: Cell, marks: str, width: int, *, folds: bool) -> list[Line]:
    """A cell with its marks on one line, or where it folds on as many as it needs."""
    needed = text_width(cell.text) + len(marks)
    if needed <= width:
        return [(((cell.text, cell.style), marks), needed)]
    if not folds:
        return [_fit(Text.assemble((cell.text, cell.style), marks), width)]
    whole = Text.assemble((cell.text.replace("[", "\n["), cell.style), marks)  # options begin a line
    return [((line,), line.cell_len) for line in whole.wrap(console, width, overflow="fold")]


def _fit(text: Text, width: int) -> Line:
    text.truncate(width, overflow="ellipsis")
    return (text,), text.cell_len


def _line(cells: Sequence[Line], widths: Sequence[int], rights: Sequence[bool]) -> Text:
    """The texts of the columns beside each other on one line."""
    parts: list[Part] = []
    for (texts, needed), width, right in zip(cells, widths, rights, strict=True):
        room = " " * (width - needed)
        parts += (room, *texts, " " * GAP) if right else (*texts, room + " " * GAP)
    line = Text.assemble(*parts, no_wrap=True, overflow="ignore")
    line.rstrip()
    return line


def _note_lines(console: Console, notes: Footnotes) -> Iterator[Text]:
    """Footnotes behind the numbers they are shown by."""
    marks = {notes.superscripts([number]): text for number, text in notes.lines()}
    indent = max(map(len, marks)) + 1
    for mark, text in marks.items():
        for place, line in enumerate(Text(text).wrap(console, max(1, console.width - indent))):
            yield Text(f"{'' if place else mark:{indent}}{line}", no_wrap=True, overflow="ignore")


def _cells(table: TableData, indices: Sequence[int]) -> Iterator[Cell]:
    return (row[i] for row in table.rows for i in indices)


def _titles(columns: Iterable[Column]) -> str:
    """`95 %, peak`, or with the groups that they are of: `temp, FLOPs of tpu:v5e, tpu:v5p; fits of host`."""
    owners = collected((column.title, line) for column in columns for line in group_lines(column)[:1] or [""])
    titles = collected((", ".join(filter(None, of)), title) for title, of in owners.items())
    return "; ".join(", ".join(names) + (f" of {of}" if of else "") for of, names in titles.items())
