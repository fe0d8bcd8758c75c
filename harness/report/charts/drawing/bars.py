"""Stacked bars: a row for each whole, a piece for each of its parts, the interval of the whole at its end."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import SubFigure

from harness.core.units import format_seconds
from harness.report.charts.drawing.scales import linear_ticks
from harness.report.charts.drawing.style import FAINT, INK
from harness.report.charts.drawing.text import BODY
from harness.report.format import trim_zeros

HEIGHT = 0.32  # inches of a row
AXES = 0.8  # inches of the axis below them
SIZE = 7.5  # points
ROOM = 1.6  # times the longest bar, for the words behind it


@dataclass(frozen=True)
class Bar:
    """A row: its parts in seconds, the whole's interval, and words behind it."""

    name: str
    parts: Mapping[str, float]
    low: float | None
    high: float | None
    words: str


def draw_bars(body: SubFigure, bars: Sequence[Bar], colours: Mapping[str, str], x_label: str) -> float:
    """The rows, the first on top; their height in inches."""
    axes = body.subplots(1, 1)
    ends = [max(sum(bar.parts.values()), bar.high or 0.0) for bar in bars]
    axes.set_xlim(0, ROOM * max(ends))
    axes.set_ylim(len(bars) - 0.5, -0.5)
    axes.set_yticks(range(len(bars)), [bar.name for bar in bars], size=SIZE)
    ticks = linear_ticks(0, max(ends))
    axes.set_xticks(ticks, [trim_zeros(format_seconds(tick)) for tick in ticks])
    axes.grid(visible=True, axis="x", color=INK, alpha=FAINT, lw=0.5)
    axes.set_axisbelow(True)
    axes.set_xlabel(x_label, size=BODY)
    for row, (bar, end) in enumerate(zip(bars, ends, strict=True)):
        _draw(axes, row, bar, end, colours)
    return HEIGHT * len(bars) + AXES


def _draw(axes: Axes, row: int, bar: Bar, end: float, colours: Mapping[str, str]) -> None:
    start = 0.0
    for part, seconds in bar.parts.items():
        axes.barh(row, seconds, 0.65, start, color=colours[part])
        start += seconds
    if bar.low is not None and bar.high is not None:
        axes.hlines(row, bar.low, bar.high, color=INK, lw=1.2)
    axes.annotate(bar.words, (end, row), (4, 0), textcoords="offset points", va="center", size=SIZE)
