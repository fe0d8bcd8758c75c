"""The strip under a panel: a row per implementation, a symbol per case that gave no figure."""

from collections.abc import Callable, Sequence

from matplotlib.axes import Axes

from harness.report.charts.drawing import text
from harness.report.charts.drawing.layout import NAME, ROW, Layout
from harness.report.charts.drawing.style import PAPER, SYMBOLS, symbol_style
from harness.report.charts.model import CROSSOVER, Mark
from harness.report.format import short_label

PRINT = 6.0  # points
BENEATH = 0.135  # inches from a symbol down to its small print
BESIDE = 0.06  # inches between two small prints


def draw_strip(axes: Axes, marks: Sequence[Mark], layout: Layout) -> None:
    """Both directions of `axes` count inches."""
    axes.set_facecolor(PAPER)
    axes.set_yticks([])
    for side in ("left", "right", "top"):
        axes.spines[side].set_visible(False)
    top = axes.get_ylim()[1]
    for label, tall in layout.rows.items():
        look, middle = layout.looks[label], top - ROW / 2
        axes.plot(-0.1, middle, look.marker, color=look.colour, ms=4, clip_on=False)
        if layout.names_fit:
            axes.text(-0.2, middle, short_label(label), size=NAME, color=look.colour, ha="right", va="center")
        row_marks = [mark for mark in marks if mark.label == label]
        for mark in row_marks:
            symbol = symbol_style(SYMBOLS[mark.symbol], look.colour)
            gid = f"{axes.get_gid()}.{mark.symbol}.{short_label(label)}.{mark.seq:.0f}"
            axes.plot(layout.at(mark.seq), middle, **symbol, gid=gid)
        for x, words in small_print(row_marks, layout.at, layout.width):
            beneath = middle - BENEATH
            axes.text(x, beneath, words, size=PRINT, color=look.colour, ha="center", va="center")
        top -= tall


def small_print(marks: Sequence[Mark], at: Callable[[float], float], right: float) -> list[tuple[float, str]]:
    """(centre, words) for every mark whose words fit beside those already placed.

    Crossovers come first: they are the answer, and planned bytes stand in the footnotes as well.
    """
    occupied: list[tuple[float, float]] = []
    placed: list[tuple[float, str]] = []
    for mark in sorted(marks, key=lambda mark: (mark.symbol != CROSSOVER, mark.seq)):
        for words in mark.texts:
            half = text.width(words, PRINT) / 2
            centre = min(max(at(mark.seq), half), right - half)
            start, end = centre - half - BESIDE, centre + half + BESIDE
            if all(end <= other_start or start >= other_end for other_start, other_end in occupied):
                occupied.append((centre - half, centre + half))
                placed.append((centre, words))
                break
    return placed
