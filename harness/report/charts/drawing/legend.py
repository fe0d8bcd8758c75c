"""The legend, outside of the data: entries flow from left to right and wrap like words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from harness.report.charts.drawing import text
from harness.report.charts.drawing.style import INK, SOFT, SYMBOLS, WARNING, Look, symbol_style
from harness.report.charts.model import DEVICE, LIGHT, LIMIT, Chart
from harness.report.format import short_label

SIZE = 8.0  # points
LINE, SYMBOL = 0.32, 0.14  # inches that a sample takes
GAP = 0.07  # between a sample and its words
BETWEEN = 0.22  # between two entries


@dataclass(frozen=True)
class LegendEntry:
    """An implementation (`look`), or a symbol of the charts."""

    lines: tuple[str, ...]
    look: Look | None = None
    symbol: str = ""

    @property
    def sample(self) -> float:
        return LINE if self.look or self.symbol in {LIGHT, LIMIT, DEVICE} else SYMBOL

    @property
    def width(self) -> float:
        return self.sample + GAP + max(text.width(line, SIZE) for line in self.lines)

    @property
    def height(self) -> float:
        return text.height(len(self.lines), SIZE)


def entries(chart: Chart, looks: Mapping[str, Look], baseline: str, room: float) -> list[list[LegendEntry]]:
    """Rows of the legend: implementations first, then the symbols in use on rows of their own."""

    def lines(words: str) -> tuple[str, ...]:
        return tuple(text.wrap(words, room - LINE - GAP, SIZE))

    named = [
        LegendEntry(lines(short_label(label) + (" (baseline)" if label == baseline else "")), look=look)
        for label, look in looks.items()
    ]
    symbols = [LegendEntry(lines(key.text), symbol=key.symbol) for key in chart.keys]
    return _wrap_entries(named, room) + _wrap_entries(symbols, room)


def _wrap_entries(flat: Sequence[LegendEntry], room: float) -> list[list[LegendEntry]]:
    rows: list[list[LegendEntry]] = []
    used = 0.0
    for entry in flat:
        if rows and used + BETWEEN + entry.width <= room:
            rows[-1].append(entry)
            used += BETWEEN + entry.width
        else:
            rows.append([entry])
            used = entry.width
    return rows


def height(rows: Sequence[Sequence[LegendEntry]]) -> float:
    return sum(max(entry.height for entry in row) for row in rows)


def draw_legend(figure: Figure, rows: Sequence[Sequence[LegendEntry]], left: float, top: float) -> None:
    """`left` and `top` in inches from the page's lower left corner."""
    inches = figure.dpi_scale_trans
    for row in rows:
        x, middle = left, top - text.height(1, SIZE) / 2
        for entry in row:
            _draw_sample(figure, entry, x, middle)
            for line, words in enumerate(entry.lines):
                beside = (x + entry.sample + GAP, middle - text.height(line, SIZE))
                figure.text(*beside, words, size=SIZE, color=INK, va="center_baseline", transform=inches)
            x += entry.width + BETWEEN
        top -= max(entry.height for entry in row)


def _draw_sample(figure: Figure, entry: LegendEntry, x: float, y: float) -> None:
    inches = figure.dpi_scale_trans
    ends, middle = ([x, x + entry.sample], [y, y]), ([x + entry.sample / 2], [y])
    if entry.look:
        look = entry.look
        figure.add_artist(Line2D(*ends, color=look.colour, ls=look.line, lw=look.width, transform=inches))
        sample = Line2D(*middle, marker=look.marker, ms=5, color=look.colour, transform=inches)
    elif entry.symbol in {LIMIT, DEVICE}:
        sample = Line2D(*ends, color=WARNING, ls="-.", lw=1.0, transform=inches)
    elif entry.symbol == LIGHT:
        sample = Line2D(*ends, color=SOFT, ls=(0, (1, 1.5)), marker="o", ms=2.5, lw=1.0, transform=inches)
    else:
        sample = Line2D(*middle, **symbol_style(SYMBOLS[entry.symbol], SOFT), transform=inches)
    figure.add_artist(sample)
