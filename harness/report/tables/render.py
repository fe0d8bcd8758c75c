"""Rendering of tables on a terminal: the columns that fit, and numbered footnotes."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from rich.cells import cell_len
from rich.console import Console
from rich.segment import Segment, Segments
from rich.table import Table
from rich.text import Text

from harness.core.grouped import collected
from harness.report.format import ABSENT
from harness.report.tables.table_data import Column, Footnotes, TableData, shorten, superscripts

GAP = 2
NOTHING = {"", ABSENT}  # a column with only these texts may be left out
_BREAK = re.compile(r" |(?=\[)")


@dataclass(frozen=True)
class ColumnMeasure:
    """One column's widths in characters, of its heading and of its texts with footnote marks.

    `whole` is the width with every text on one line, `folded` the width with texts broken at every possible
    place. `heading` has the lines above the column.
    """

    column: Column
    heading: str
    whole: int
    folded: int
    empty: bool

    @property
    def absent(self) -> bool:
        """Whether the column is left out because it has no content."""
        return self.empty and bool(self.column.rank)


def _width(texts: Iterable[str]) -> int:
    """The width of the widest text in terminal cells."""
    return max(map(cell_len, texts), default=0)


@dataclass(frozen=True)
class Page:
    """One panel: the lines below the heading of its first table, and its tables."""

    tables: tuple[TableData, ...]
    lines: tuple[str, ...] = ()


class FittedTable:
    """A table on a console: the measures of its columns, and which columns are `shown`.

    Shown are columns with content or of rank 0. If they do not fit, the highest ranks are dropped first.
    """

    def __init__(self, console: Console, table: TableData, notes: Footnotes) -> None:
        self.table = table
        self._width = console.width
        self.columns = list(self._measures(notes))
        self.shown = [i for i, measure in enumerate(self.columns) if not measure.absent]
        for i in sorted(self.shown, key=lambda i: self.columns[i].column.rank, reverse=True):
            if self._slack >= 0 or not self.columns[i].column.rank:
                break
            self.shown.remove(i)

    @property
    def _slack(self) -> int:
        """Spare characters when every foldable text is folded."""
        gaps = GAP * (len(self.shown) - 1)
        return self._width - sum(self.columns[i].folded for i in self.shown) - gaps

    def _measures(self, notes: Footnotes) -> Iterator[ColumnMeasure]:
        groups = [column.group.split("\n") if column.group else [] for column in self.table.columns]
        tallest = max(map(len, groups))
        titled: list[str] = []
        for i, column in enumerate(self.table.columns):
            cells = [row[i] for row in self.table.rows]
            # A group's lines are above its first column that has content.
            above = [] if column.group in titled else groups[i]
            heading = [*[""] * (tallest - len(above)), *above, column.title]
            texts = set(map(notes.marked, cells))
            pieces = {piece for text in texts for piece in _BREAK.split(text)} if column.folds else texts
            whole, folded = (max(_width(heading), _width(each)) for each in (texts, pieces))
            empty = all(cell.text in NOTHING for cell in cells)
            measure = ColumnMeasure(column, "\n".join(heading), whole, folded, empty)
            if not measure.absent:
                titled.append(column.group)
            yield measure

    def _widths(self) -> list[int]:
        """The columns' widths: spare room unfolds the first columns; without room the widest shrink."""
        spare = self._slack
        columns = [self.columns[i] for i in self.shown]
        widths = [measure.folded for measure in columns]
        for place, measure in enumerate(columns):
            more = max(0, min(spare, measure.whole - measure.folded))
            widths[place] += more
            spare -= more
        for _ in range(-spare):
            widths[widths.index(max(widths))] -= max(widths) > 1
        return widths

    def draw(self, notes: Footnotes, console: Console) -> Iterator[Segment]:
        """The lines of the table, with footnote numbers after the cells' texts.

        A run has hundreds of thousands of cells, for which rich's tables take many times as long.
        """
        measures, widths = [self.columns[i] for i in self.shown], self._widths()
        places = [(width, measure.column.right) for width, measure in zip(widths, measures, strict=True)]
        coloured = console.color_system is not None  # else a line is one segment

        def lines(texts: Iterable[str], styles: Sequence[str]) -> Iterator[Segment]:
            cells = [_fold(console, text, *place) for text, place in zip(texts, places, strict=True)]
            for parts in zip_longest(*cells):
                whole = [part or " " * width for part, width in zip(parts, widths, strict=True)]
                if coloured:
                    gaps = [*[" " * GAP] * (len(whole) - 1), ""]
                    for text, gap, style in zip(whole, gaps, styles, strict=True):
                        yield Segment(text + gap, console.get_style(style) if style else None)
                else:
                    yield Segment((" " * GAP).join(whole).rstrip())
                yield Segment.line()

        yield from lines((measure.heading for measure in measures), ["bold"] * len(measures))
        yield from (Segment("─" * (sum(widths) + GAP * (len(widths) - 1))), Segment.line())
        for place, row in enumerate(self.table.rows):
            if place in self.table.breaks:
                yield from lines([""] * len(measures), [""] * len(measures))
            cells = [row[i] for i in self.shown]
            yield from lines(map(notes.marked, cells), [cell.style for cell in cells])


def _fold(console: Console, text: str, width: int, right: bool) -> list[str]:
    """The text's lines, padded to the width; options start a new line if the whole does not fit."""
    room = width - cell_len(text)
    if room >= 0 and "\n" not in text:
        return [" " * room + text if right else text + " " * room]
    wrapped = Text(text.replace("[", "\n[")).wrap(console, width, overflow="fold")
    return [f"{line.plain.rstrip():{'>' if right else '<'}{width}}" for line in wrapped]


@dataclass
class Legend:
    """The legend below tables: captions, why columns are missing, and which columns did not fit."""

    captions: dict[str, None] = field(default_factory=dict[str, None])
    missing: dict[str, dict[Column, None]] = field(default_factory=dict[str, dict[Column, None]])
    narrow: dict[Column, None] = field(default_factory=dict[Column, None])
    left_out: int = 0

    def add(self, page: Page, fitted: Sequence[FittedTable], *, few: bool) -> None:
        self.captions.update({table.caption: None for table in page.tables if table.caption and table.rows})
        for each in fitted:
            for i, measure in enumerate(each.columns):
                if i in each.shown:
                    self.captions.update({measure.column.caption: None} if measure.column.caption else {})
                elif not measure.empty:
                    self.narrow[measure.column] = None
                elif not few:
                    notes = dict.fromkeys(shorten(note) for row in each.table.rows for note in row[i].notes)
                    self.missing.setdefault("; ".join(notes), {})[measure.column] = None

    def print(self, console: Console) -> bool:
        """Print the legend; return whether it had any lines."""
        missing = (f"No {_titles(columns)}: {why}." for why, columns in self.missing.items() if why)
        left_out = f"--notes shows {self.left_out} more footnotes." if self.left_out else ""
        narrow = f"Columns that do not fit: {_titles(self.narrow)}; --json has them." if self.narrow else ""
        lines = [line for line in (*self.captions, *missing, left_out, narrow) if line]
        for line in lines:
            console.print(Text(line, style="dim"))
        return bool(lines)


def print_tables(console: Console, *tables: TableData) -> None:
    """Print the tables of one panel one below the other, then all their footnotes."""
    legend = Legend()
    print_pages(console, [Page(tables)], legend)
    legend.print(console)
    console.print()


def print_pages(console: Console, pages: Sequence[Page], legend: Legend, *, few: bool = False) -> bool:
    """Print panels one below the other, then their footnotes; with `few` only one footnote per kind.

    Adds to the legend. Returns whether there are footnotes.
    """
    every = (cell for page in pages for table in page.tables for row in table.rows for cell in row)
    notes = Footnotes(every, few=few)
    drawn: list[list[FittedTable]] = []
    for page in pages:
        fitted = [FittedTable(console, table, notes) for table in page.tables if table.rows]
        drawn.append([each for each in fitted if len(each.shown) > 1])  # not a table of names only
    shown = (row[i] for fitted in drawn for each in fitted for row in each.table.rows for i in each.shown)
    notes = Footnotes(shown, few=few)
    for page, fitted in zip(pages, drawn, strict=True):
        for place, each in enumerate(fitted):
            if each.table.title:
                console.print(Text(each.table.title, style="bold"))
            if place == 0 and page.lines:
                console.print(Text("\n".join(page.lines)))
                console.print()
            console.print(Segments(each.draw(notes, console)), crop=False)
            console.print()
        legend.add(page, fitted, few=few)
    legend.left_out += len(notes.left_out)
    if notes.numbers:
        console.print(_note_table(notes))
    return bool(notes.numbers)


def _note_table(notes: Footnotes) -> Table:
    """A table of the footnotes and their numbers."""
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for note, number in notes.numbers.items():
        table.add_row(superscripts([number]), Text(note))
    return table


def _titles(columns: Iterable[Column]) -> str:
    """`95 %, peak`, with groups if there are any: `temp, FLOPs of tpu:v5e, tpu:v5p; fits of host`."""
    owners = collected((column.title, column.group.partition("\n")[0]) for column in columns)
    titles = collected((", ".join(filter(None, of)), title) for title, of in owners.items())
    return "; ".join(", ".join(names) + (f" of {of}" if of else "") for of, names in titles.items())
