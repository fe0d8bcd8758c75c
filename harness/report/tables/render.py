"""Tables on a terminal: which columns fit, numbers in line, footnotes in order.

Lines are written here rather than by rich's tables: those take a tenth of a millisecond for every cell, and
a run has hundreds of thousands. Rich breaks what is too long for one line, and colours.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from harness.report.tables.cells import Cell
from harness.report.tables.footnotes import Footnotes, shorten, superscripts
from harness.report.tables.measures import (
    GAP,
    ColumnMeasure,
    Marks,
    TableMeasures,
    group_lines,
    text_width,
)
from harness.report.tables.table_data import Column, TableData

_BOLD, _PLAIN = Style.parse("bold"), Style.null()
_NEWLINE = Segment("\n")

Piece = tuple[str, Style]
Line = tuple[list[Piece], int]  # the pieces of a cell on one line, and how wide they are together


@dataclass(frozen=True)
class Page:
    """One panel: the lines below the heading of its first table, and its tables."""

    tables: tuple[TableData, ...]
    lines: tuple[str, ...] = ()


Fitted = tuple[TableMeasures, list[int]]  # a table and the columns of it that are drawn


@dataclass
class Legend:
    """What stands below tables once: captions, why columns are missing, which were too wide."""

    captions: dict[str, None] = field(default_factory=dict[str, None])
    missing: dict[str, dict[Column, None]] = field(default_factory=dict[str, dict[Column, None]])
    narrow: list[Column] = field(default_factory=list[Column])
    left_out: int = 0

    def add(self, tables: Sequence[TableData], shown: Sequence[Fitted]) -> None:
        columns = [measures.columns[i].column.caption for measures, indices in shown for i in indices]
        self.captions.update(dict.fromkeys(filter(None, [*(table.caption for table in tables), *columns])))
        for measures, indices in shown:
            for column, why in _absent_columns(measures, indices):
                self.missing.setdefault(why, {})[column] = None
            self.narrow += _dropped_columns(measures, indices)

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
    """The tables of one panel, one below the other, then the footnotes of all."""
    legend = Legend()
    print_pages(console, [Page(tables)], legend)
    legend.print(console)
    console.print()


def print_pages(console: Console, pages: Sequence[Page], legend: Legend, *, few: bool = False) -> bool:
    """Panels one below the other, then their footnotes, or with `few` one for each kind of them.

    What belongs into the legend is added to it. Whether any cell has a footnote.
    """
    tables = [table for page in pages for table in page.tables]
    notes = Footnotes((cell for table in tables for row in table.rows for cell in row), few=few)
    shown: list[list[Fitted]] = []
    for page in pages:
        measured = [TableMeasures(table, notes.marks) for table in page.tables if table.rows]
        fitted = [(measures, measures.fitting(console.width)) for measures in measured]
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
            console.print(DrawnTable(measures, indices, notes.marks))
            console.print()
        legend.add(page.tables, fitted)
    legend.left_out += len(notes.left_out)
    if notes.numbers:
        console.print(DrawnNotes(notes.lines()))
    return any_noted


@dataclass(frozen=True)
class DrawnTable:
    """The columns of a table at `indices`; `marks` are the numbers that a cell's footnotes are shown by."""

    measures: TableMeasures
    indices: Sequence[int]
    marks: Marks

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        table, columns = self.measures.table, [self.measures.columns[i] for i in self.indices]
        widths = self.measures.widths(self.indices, options.max_width)
        rights = [measure.column.right for measure in columns]
        for line in zip(*(measure.heading for measure in columns), strict=True):
            titles = [_fit([(title, _BOLD)], width) for title, width in zip(line, widths, strict=True)]
            yield from _draw(titles, widths, rights)
        yield Segment("─" * (sum(widths) + GAP * (len(widths) - 1)))
        yield _NEWLINE
        breaks = frozenset(table.breaks)
        for number, row in enumerate(table.rows):
            if number in breaks:
                yield _NEWLINE
            cells = [
                self._lines(console, row[i], measure, width)
                for i, measure, width in zip(self.indices, columns, widths, strict=True)
            ]
            for place in range(max(map(len, cells))):
                at_place = [lines[place] if place < len(lines) else ([], 0) for lines in cells]
                yield from _draw(at_place, widths, rights)

    def _lines(self, console: Console, cell: Cell, measure: ColumnMeasure, width: int) -> list[Line]:
        pieces = [(cell.text, console.get_style(cell.style) if cell.style else _PLAIN)]
        if marks := self.marks(cell):
            pieces.append((marks, _PLAIN))
        needed = _width(pieces)
        if needed <= width:
            return [(pieces, needed)]
        return _wrap(console, pieces, width) if measure.column.folds else [_fit(pieces, width)]


@dataclass(frozen=True)
class DrawnNotes:
    """Footnotes with the numbers they are shown by, each broken into lines behind its number."""

    notes: Sequence[tuple[int, str]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        marks = [superscripts([number]) for number, _ in self.notes]
        indent = max(map(len, marks)) + 1
        width = max(1, options.max_width - indent)
        for mark, (_, text) in zip(marks, self.notes, strict=True):
            lines = [text] if cell_len(text) <= width else Text(text).wrap(console, width)
            for place, line in enumerate(lines):
                yield Segment(f"{'' if place else mark:{indent}}{line}")
                yield _NEWLINE


def _width(pieces: Iterable[Piece]) -> int:
    return sum([text_width(text) for text, _ in pieces])


def _wrap(console: Console, pieces: Sequence[Piece], width: int) -> list[Line]:
    """The pieces on as many lines as they need; options begin a line of their own."""
    whole = Text()
    for text, style in pieces:
        whole.append(text.replace("[", "\n["), style)
    lines: list[Line] = []
    for line in whole.wrap(console, width, overflow="fold"):
        broken = [(s.text, s.style or _PLAIN) for s in line.render(console) if s.text != line.end]
        lines.append((broken, _width(broken)))
    return lines


def _fit(pieces: list[Piece], width: int) -> Line:
    """The pieces on one line, cut off where the column had to give way."""
    needed = _width(pieces)
    if needed <= width:
        return pieces, needed
    text = Text("".join(text for text, _ in pieces))
    text.truncate(width, overflow="ellipsis")
    return [(text.plain, pieces[0][1])], width


def _draw(cells: Sequence[Line], widths: Sequence[int], rights: Sequence[bool]) -> Iterator[Segment]:
    """One line of a table. What has no style is one segment, since each costs as much as a cell's text."""
    plain, gap = "", 0
    for (pieces, needed), width, right in zip(cells, widths, rights, strict=True):
        gap += width - needed if right else 0
        for text, style in pieces:
            plain += " " * gap
            gap = 0
            if style is not _PLAIN:
                yield Segment(plain)
                yield Segment(text, style)
                plain = ""
            else:
                plain += text
        gap += GAP if right else GAP + width - needed
    yield Segment(plain.rstrip(" "))
    yield _NEWLINE


def _cells(table: TableData, indices: Sequence[int]) -> Iterator[Cell]:
    return (row[i] for row in table.rows for i in indices)


def _absent_columns(measures: TableMeasures, indices: Sequence[int]) -> list[tuple[Column, str]]:
    """Columns that are not there at all, and why: (peak, `XLA's figure … leaves temporaries out`)."""
    columns: list[tuple[Column, str]] = []
    for i, measure in enumerate(measures.columns):
        if i not in indices and measure.empty:
            notes = dict.fromkeys(shorten(note) for row in measures.table.rows for note in row[i].notes)
            why = "; ".join(notes)
            columns += [(measure.column, why)] if why else []
    return columns


def _dropped_columns(measures: TableMeasures, indices: Sequence[int]) -> list[Column]:
    return [m.column for i, m in enumerate(measures.columns) if i not in indices and not m.empty]


def _titles(columns: Iterable[Column]) -> str:
    """`95 %, peak`, or with the groups that they are of: `temp, FLOPs of tpu:v5e, tpu:v5p; fits of host`."""
    groups: dict[str, list[str]] = {}
    for column in columns:
        groups.setdefault(column.title, []).extend(group_lines(column)[:1])
    titles: dict[str, list[str]] = {}
    for title, owners in groups.items():
        titles.setdefault(", ".join(owners), []).append(title)
    return "; ".join(
        ", ".join(names) + (f" of {owners}" if owners else "") for owners, names in titles.items()
    )
