"""Documents that published the numbers: citations, tables, and curves through them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from harness.analysis.scaling import crossing_lengths
from harness.claims.quantity import Missing, read_number

_LINES = re.compile(r"\d+(-\d+)?(,\d+(-\d+)?)*")


@dataclass(frozen=True)
class Source:
    """A document. `document["46,51"]` cites lines of it.

    `of` names its pull request; empty for context. `stored` is the id of the stored text that quoted numbers
    are checked against; empty if no text is stored.
    """

    title: str
    url: str = ""
    of: str = ""
    version: str = ""
    stored: str = ""

    def __getitem__(self, lines: str) -> Citation:
        if not _LINES.fullmatch(lines):
            raise ValueError(f'write lines like 46, 28-39 or 46,51, not "{lines}"')
        return Citation(self, lines)

    def table(self, text: str, *others: Source) -> Table:
        return Citation(self).table(text, *others)


@dataclass(frozen=True)
class Citation:
    """Citation of a document, with lines of its stored text: `46,51` or `28-39`."""

    source: Source
    lines: str = ""

    def table(self, text: str, *others: Source) -> Table:
        """Parse a table: names of columns, then one row per line, with two spaces between cells.

        `-` is an empty cell. A first line `in % of the forward` sets the unit; the default is ms.
        """
        lines = [re.split(r"\s{2,}", line.strip()) for line in text.strip().splitlines()]
        units = lines.pop(0)[0].removeprefix("in ") if lines[0][0].startswith("in ") else "ms"
        columns, *written = map(tuple, lines)
        if len({*columns}) < len(columns):
            raise ValueError(f"two columns have the same name: {', '.join(columns)}")
        for cells in written:
            if len(cells) != len(columns):
                raise ValueError(
                    f'a row has {len(columns)} cells ({", ".join(columns)}), not "{"  ".join(cells)}"'
                )
        rows = tuple(tuple(None if cell == "-" else read_number(cell) for cell in cells) for cells in written)
        return Table((self, *map(Citation, others)), columns, rows, tuple(written), units)


@dataclass(eq=False)
class Table:
    """A published table, with its name in the claims.py. A cell without a number is None or a word (`OOM`).

    `written` has every cell as written: `3.70`, which is 3.7 as a number.
    """

    sources: tuple[Citation, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[float | str | None, ...], ...]
    written: tuple[tuple[str, ...], ...]
    units: str = "ms"
    id: str = ""


Column = Mapping[float, float]  # numbers by the row's length


def fit(column: Column, length: float, start: float = 0) -> float:
    """Value at a length of a parabola fitted to the rows from `start`, with relative residuals.

    Missing with fewer than four rows, because three coefficients fit three rows exactly.
    """
    import numpy as np

    lengths = np.array([n for n in sorted(column) if n >= start])
    values = np.array([column[n] for n in lengths])
    if len(lengths) <= 3:
        raise Missing(f"a fit of three coefficients needs four rows; the table has {len(lengths)}")
    if (values <= 0).any():
        raise ValueError("a fit with relative residuals needs numbers above zero")
    return float(np.polyval(np.polyfit(lengths, values, 2, w=1 / values), length))


def first_win(slower: Column, faster: Column) -> float:
    """First length from which the second column stays below the first."""
    lengths = sorted(slower.keys() & faster.keys())
    behind = [place for place, length in enumerate(lengths) if faster[length] >= slower[length]]
    ahead = lengths[behind[-1] + 1 :] if behind else lengths
    if not ahead:
        raise Missing("the second column never stays below the first")
    return ahead[0]


def crossover(slower: Column, faster: Column) -> float:
    """Length where the ratio last crosses 1, interpolated linearly in both logarithms.

    ValueError for a row with zero or less, which has no logarithm.
    """
    rows = [(length, slower[length], faster[length]) for length in sorted(slower.keys() & faster.keys())]
    for row in rows:
        if min(row) <= 0:
            raise ValueError(f"a crossover needs numbers above zero; a row has {min(row)} at {row[0]}")
    crossings = crossing_lengths((length, math.log(first / second)) for length, first, second in rows)
    if not crossings:
        raise Missing("the columns do not cross within the table")
    return crossings[-1]
