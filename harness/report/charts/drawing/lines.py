"""One implementation in a panel: points with their intervals, joined where no length is missing."""

from itertools import pairwise

from matplotlib.axes import Axes

from harness.report.charts.drawing.layout import Layout
from harness.report.charts.model import Panel, Point, Series, stretches
from harness.report.format import short_label

LIGHT = (0, (1.0, 1.5))  # the dots of a second figure's line


def draw_series(axes: Axes, series: Series, panel: Panel, layout: Layout, *, aside: float) -> None:
    """`aside` is a factor on the lengths that moves the points off those of others."""
    look = layout.looks[series.label]
    alpha, size = (0.55, 3.0) if series.light else (1.0, 5.0)
    line, width = (LIGHT, 1.0) if series.light else (look.line, look.width)
    for run in stretches(series.points, panel.lengths):
        lengths, values = [point.seq * aside for point in run], [layout.on(point.value) for point in run]
        axes.plot(lengths, values, color=look.colour, ls=line, lw=width, alpha=alpha)
        for left, right in pairwise(run):
            _draw_band(axes, left, right, look.colour)
    kind = "light" if series.light else "point"
    for point in series.points:
        _draw_interval(axes, point, look.colour, aside)
        axes.plot(
            point.seq * aside,
            layout.on(point.value),
            look.marker,
            mfc="white" if point.hollow else look.colour,
            mec=look.colour,
            mew=1.1,
            ms=size,
            alpha=alpha,
            zorder=4,
            gid=f"{axes.get_gid()}.{kind}.{short_label(series.label)}.{point.seq}",
        )


def _draw_band(axes: Axes, left: Point, right: Point, colour: str) -> None:
    if left.low is None or left.high is None or right.low is None or right.high is None:
        return
    lows, highs = [left.low, right.low], [left.high, right.high]
    axes.fill_between([left.seq, right.seq], lows, highs, color=colour, alpha=0.15, lw=0)


def _draw_interval(axes: Axes, point: Point, colour: str, aside: float) -> None:
    if point.low is not None and point.high is not None:
        axes.vlines(point.seq * aside, point.low, point.high, color=colour, lw=1.0, alpha=0.8)
