"""Tables on a terminal: which columns fit, numbers in line, footnotes in order.

Lines are put together here rather than by rich's tables: those take a tenth of a millisecond for every cell,
and a run has hundreds of thousands. Rich breaks what is too long for one line, and colours.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from rich.console import Console, Group
from rich.text import Text

from harness.report.tables.cells import Cell
from harness.report.tables.footnotes import Footnotes, shorten, superscripts
from harness.report.tables.measures import GAP, Marks, TableMeasures, group_lines
from harness.report.tables.table_data import Column, TableData


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
        yield _line([_cut(Text(t, "bold"), w) for t, w in zip(titles, widths, strict=True)], widths, rights)
    yield Text("─" * (sum(widths) + GAP * (len(widths) - 1)))
    breaks = frozenset(measures.table.breaks)
    for number, row in enumerate(measures.table.rows):
        if number in breaks:
            yield Text()
        cells = [
            _cell_lines(console, row[i], marks(row[i]), width, folds=measure.column.folds)
            for (i, measure), width in zip(columns, widths, strict=True)
        ]
        for texts in zip_longest(*cells, fillvalue=Text()):
            yield _line(texts, widths, rights)


def _cell_lines(console: Console, cell: Cell, marks: str, width: int, *, folds: bool) -> Iterable[Text]:
    """A cell with its marks on one line, or where it folds on as many as it needs."""
    text = Text.assemble((cell.text, cell.style), marks)
    if not folds or text.cell_len <= width:
        return [_cut(text, width)]
    whole = Text.assemble((cell.text.replace("[", "\n["), cell.style), marks)  # options begin a line
    return whole.wrap(console, width, overflow="fold")


def _cut(text: Text, width: int) -> Text:
    if text.cell_len > width:
        text.truncate(width, overflow="ellipsis")
    return text


def _line(texts: Sequence[Text], widths: Sequence[int], rights: Sequence[bool]) -> Text:
    """The texts of the columns beside each other on one line."""
    line = Text(no_wrap=True, overflow="ignore")
    end = 0  # of the columns so far
    for text, width, right in zip(texts, widths, rights, strict=True):
        end += width
        at = end - text.cell_len if right else end - width
        line.append(" " * (at - line.cell_len)).append_text(text)
        end += GAP
    line.rstrip()
    return line


def _note_lines(console: Console, notes: Footnotes) -> Iterator[Text]:
    """Footnotes behind the numbers they are shown by."""
    marks = {superscripts([number]): text for number, text in notes.lines()}
    indent = max(map(len, marks)) + 1
    for mark, text in marks.items():
        for place, line in enumerate(Text(text).wrap(console, max(1, console.width - indent))):
            yield Text(f"{'' if place else mark:{indent}}{line}", no_wrap=True, overflow="ignore")


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
