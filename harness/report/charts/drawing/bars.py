"""Bars of shares, a row each, with their names at the left and words behind them."""

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import SubFigure

from harness.report.charts.drawing.panel import set_ticks
from harness.report.charts.drawing.style import BODY, FAINT, INK, WARNING, Look, wrap
from harness.report.charts.model import BarChart, BarPanel

ROW, LINE = 0.11, 0.12  # inches of a bar, and of each line of its name
MARGIN = 0.6  # inches of a panel's title and axis
SIZE = 6.5  # points
NAME = 1.6  # inches that a name may take before it is broken
REACH = 2.2  # of the axis: a whole, and the room behind it for words
TICKS = {share / 4: f"{25 * share} %" for share in range(5)}


def draw_bars(body: SubFigure, chart: BarChart, looks: Mapping[str, Look]) -> float:
    """The panels below each other, each as high as its rows; their height in inches."""
    names = [[wrap(bar.name, NAME, SIZE) for bar in panel.bars] for panel in chart.panels]
    heights = [len(own) * (ROW + LINE * max(1 + name.count("\n") for name in own)) for own in names]
    grid = body.subplots(len(heights), 1, squeeze=False, gridspec_kw={"height_ratios": heights})
    for axes, panel, own in zip(grid[:, 0], chart.panels, names, strict=True):
        _draw_panel(axes, panel, own, looks)
    grid[-1, 0].set_xlabel(chart.x_label, size=BODY, loc="left")
    return sum(heights) + MARGIN * len(heights)


def _draw_panel(axes: Axes, panel: BarPanel, names: list[str], looks: Mapping[str, Look]) -> None:
    axes.set_title(panel.title, loc="left", size=BODY, weight="bold")
    axes.set_xlim(0, REACH)
    axes.set_ylim(len(panel.bars) - 0.5, -0.5)
    set_ticks(axes.xaxis, TICKS)
    axes.spines["bottom"].set_bounds(0, 1)
    axes.vlines(list(TICKS)[1:], -0.5, len(panel.bars) - 0.5, color=INK, alpha=FAINT, lw=0.5)
    axes.set_yticks(range(len(names)), names, size=SIZE)
    for row, (bar, name) in enumerate(zip(panel.bars, axes.get_yticklabels(), strict=True)):
        colour = looks[bar.label].colour
        name.set_color(colour)
        axes.barh(row, bar.share, 0.6, color=colour)
        axes.annotate(
            bar.words,
            (bar.share, row),
            (4, 0),
            textcoords="offset points",
            va="center",
            size=SIZE,
            color=WARNING if bar.alarming else INK,
        )
