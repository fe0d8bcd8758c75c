"""Tables as rich draws them: which columns fit, numbers in line, footnotes in order."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.report.format import ABSENT
from harness.report.tables.cells import Cell
from harness.report.tables.table_data import Column, TableData

GAP = 2
_BREAK = re.compile(r" |(?=\[)")
_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Page:
    """One panel: the lines below the heading of its first table, and its tables."""

    tables: tuple[TableData, ...]
    lines: tuple[str, ...] = ()


@dataclass
class Legend:
    """What stands below tables once: captions, why columns are missing, which were too wide."""

    captions: dict[str, None] = field(default_factory=dict[str, None])
    missing: dict[str, list[Column]] = field(default_factory=dict[str, list[Column]])
    narrow: list[Column] = field(default_factory=list[Column])
    left_out: int = 0

    def add(self, tables: Sequence[TableData], shown: Sequence[tuple[TableData, list[int]]]) -> None:
        columns = [table.columns[i].caption for table, indices in shown for i in indices]
        self.captions.update(dict.fromkeys(filter(None, [*(table.caption for table in tables), *columns])))
        for table, indices in shown:
            for column, why in _absent_columns(table, indices):
                self.missing.setdefault(why, []).append(column)
            self.narrow += _dropped_columns(table, indices)

    def print(self, console: Console) -> None:
        missing = (f"No {_titles(columns)}: {why}." for why, columns in self.missing.items())
        for line in (*self.captions, *missing):
            console.print(Text(line, style="dim"))
        if self.left_out:
            console.print(Text(f"--notes shows {self.left_out} more footnotes.", style="dim"))
        if self.narrow:
            titles = _titles(list(dict.fromkeys(self.narrow)))
            console.print(Text(f"Too narrow for: {titles}; --json has them.", style="dim"))


def print_tables(console: Console, *tables: TableData) -> None:
    """The tables of one panel, one below the other, then the footnotes of all."""
    texts = [note for table in tables for note in table.footnotes]
    legend = Legend()
    print_pages(console, [Page(tables)], texts, legend)
    legend.print(console)
    console.print()


def print_pages(
    console: Console, pages: Sequence[Page], footnotes: Sequence[tuple[int, str]], legend: Legend
) -> None:
    """Panels one below the other, then their footnotes; what belongs into the legend is added to it."""
    shown: list[list[tuple[TableData, list[int]]]] = []
    for page in pages:
        fitted = [(table, fitting_columns(table, console.width)) for table in page.tables if table.rows]
        shown.append([entry for entry in fitted if len(entry[1]) > 1])  # names alone say nothing
    numbers = _number_footnotes(
        [c for page in shown for table, indices in page for c in _cells(table, indices)]
    )
    for page, fitted in zip(pages, shown, strict=True):
        for place, (table, indices) in enumerate(fitted):
            if table.title:
                console.print(Text(table.title, style="bold"))
            if place == 0 and page.lines:
                console.print(Text("\n".join(page.lines)))
                console.print()
            console.print(draw_table(table, indices, numbers, console.width))
            console.print()
        legend.add(page.tables, fitted)
    _print_footnotes(console, dict(footnotes), numbers)


def fitting_columns(table: TableData, width: int) -> list[int]:
    """The columns to draw: with content or of rank 0; where the width is short, the highest ranks go."""
    indices = [i for i in range(len(table.columns)) if not _is_dropped(table, i)]
    for i in sorted(indices, key=lambda i: table.columns[i].rank, reverse=True):
        if _slack(table, indices, width) >= 0 or not table.columns[i].rank:
            break
        indices.remove(i)
    return indices


def _slack(table: TableData, indices: Sequence[int], width: int) -> int:
    """Characters to spare when every text that may fold is folded."""
    return width - sum(_folded_width(table, i) for i in indices) - GAP * (len(indices) - 1)


def _folded_width(table: TableData, i: int) -> int:
    """The width of a column whose texts are broken wherever they may be."""
    column = table.columns[i]
    if not column.folds:
        return _width(table, i)
    parts = [part for row in table.rows for part in _parts(row[i])]
    return max(cell_len(part) for part in (*parts, *_heading_lines(table, i)))


def _heading_lines(table: TableData, i: int) -> list[str]:
    """The lines above a column, as many as above the others: its group's, if it leads one, and its title."""
    tallest = max(len(_group(column)) for column in table.columns)
    group, before = table.columns[i].group, range(i)
    leads = not any(table.columns[j].group == group and not _is_dropped(table, j) for j in before)
    above = _group(table.columns[i]) if leads else []
    return [*[""] * (tallest - len(above)), *above, table.columns[i].title]


def _group(column: Column) -> list[str]:
    return column.group.split("\n") if column.group else []


def _is_dropped(table: TableData, i: int) -> bool:
    """Whether a column is left out because nothing stands in it."""
    return bool(table.columns[i].rank) and is_empty(table, i)


def _parts(cell: Cell) -> list[str]:
    """The pieces of a text that stay on one line: words, and options apart from the name before them."""
    return _BREAK.split(cell.text + _marks(cell.notes))


def is_empty(table: TableData, i: int) -> bool:
    return all(row[i].text in {"", ABSENT} for row in table.rows)


def draw_table(table: TableData, indices: Sequence[int], numbers: Mapping[int, int], width: int) -> Table:
    """The columns at `indices` in `width` characters; spare room unfolds texts, the first columns first.

    `numbers` gives each footnote the number it is shown by.
    """
    rich = Table(box=SIMPLE_HEAD, padding=(0, GAP - 1, 0, 0), pad_edge=False, show_edge=False)
    spare = max(0, _slack(table, indices, width))
    widths: dict[int, int] = {}
    for i in indices:
        column = table.columns[i]
        more = min(spare, _width(table, i) - _folded_width(table, i))
        spare -= more
        widths[i] = _folded_width(table, i) + more
        rich.add_column(
            Text("\n".join(_heading_lines(table, i))),
            justify="right" if column.right else "left",
            width=widths[i],
            no_wrap=not column.folds,
            overflow="fold" if column.folds else "ellipsis",
        )
    for number, row in enumerate(table.rows):
        if number in table.breaks:
            rich.add_row()
        rich.add_row(*(_text(table, i, row[i], numbers, widths[i]) for i in indices))
    return rich


def _cells(table: TableData, indices: Sequence[int]) -> list[Cell]:
    return [row[i] for row in table.rows for i in indices]


def _number_footnotes(cells: Sequence[Cell]) -> dict[int, int]:
    """Footnote → the number it is shown by: in reading order, without those of hidden columns."""
    used = dict.fromkeys(note for cell in cells for note in cell.notes)
    return {note: position for position, note in enumerate(used, 1)}


def _print_footnotes(console: Console, texts: Mapping[int, str], numbers: Mapping[int, int]) -> None:
    if numbers:
        grid = Table.grid(padding=(0, 1, 0, 0))
        for note, number in numbers.items():
            grid.add_row(Text(str(number).translate(_SUPERSCRIPTS)), Text(texts[note]))
        console.print(grid)


def _absent_columns(table: TableData, indices: Sequence[int]) -> list[tuple[Column, str]]:
    """Columns that are not there at all, and why: (peak, `XLA's figure … leaves temporaries out`)."""
    texts = dict(table.footnotes)
    columns: list[tuple[Column, str]] = []
    for i, column in enumerate(table.columns):
        if i not in indices and is_empty(table, i):
            notes = dict.fromkeys(note for row in table.rows for note in row[i].notes)
            why = "; ".join(texts[note] for note in notes if note in texts)
            columns += [(column, why)] if why else []
    return columns


def _dropped_columns(table: TableData, indices: Sequence[int]) -> list[Column]:
    return [c for i, c in enumerate(table.columns) if i not in indices and not is_empty(table, i)]


def _titles(columns: Sequence[Column]) -> str:
    """`95 %, peak`, or with the groups that they are of: `temp, FLOPs of tpu:v5e, tpu:v5p; fits of host`."""
    groups: dict[str, list[str]] = {}
    for column in columns:
        groups.setdefault(column.title, []).extend(_group(column)[:1])
    titles: dict[str, list[str]] = {}
    for title, owners in groups.items():
        titles.setdefault(", ".join(owners), []).append(title)
    return "; ".join(
        ", ".join(names) + (f" of {owners}" if owners else "") for owners, names in titles.items()
    )


def _marks(notes: Sequence[int], numbers: Mapping[int, int] | None = None) -> str:
    shown = notes if numbers is None else [numbers[note] for note in notes]
    return ",".join(str(note).translate(_SUPERSCRIPTS) for note in shown)


def _room(table: TableData, i: int) -> int:
    """Characters that marks take behind a column's texts."""
    return max((cell_len(_marks(row[i].notes)) for row in table.rows), default=0)


def _width(table: TableData, i: int) -> int:
    """Numbers leave the same room for marks in every row, so that they stay in line."""
    texts = [cell_len(row[i].text) for row in table.rows]
    if table.columns[i].right:
        inner = max(texts, default=0) + _room(table, i)
    else:
        marks = [cell_len(_marks(row[i].notes)) for row in table.rows]
        inner = max((text + mark for text, mark in zip(texts, marks, strict=True)), default=0)
    return max(inner, *map(cell_len, _heading_lines(table, i)))


def _text(table: TableData, i: int, cell: Cell, numbers: Mapping[int, int], width: int) -> Text:
    column = table.columns[i]
    marks = _marks(cell.notes, numbers)
    shown = cell.text
    if column.folds and cell_len(shown + marks) > width:
        shown = shown.replace("[", "\n[")
    text = Text(shown, style=cell.style)
    return text.append(marks.ljust(_room(table, i)) if column.right else marks, style="not bold default")
