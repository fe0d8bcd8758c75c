"""Points with whiskers: a figure over another, or a row for each implementation."""

import math
from collections.abc import Mapping
from statistics import fmean

from matplotlib.axes import Axes
from matplotlib.figure import SubFigure
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from harness.analysis.stats import Estimate
from harness.report.charts.drawing.panel import draw_grid, draw_limit
from harness.report.charts.drawing.scales import RATIO, linear_ticks
from harness.report.charts.drawing.style import BASELINE, Look
from harness.report.charts.drawing.text import BODY, ROOM, wrap
from harness.report.charts.model import Mark, ScatterChart, ScatterPanel
from harness.report.format import short_label

ROW = 0.22  # inches
SIZE = 6.5  # points
NAME = 1.3  # inches that a row's name may take before it is broken
BEYOND = 0.08  # of the span of an axis, outside of the outermost figures
MOST = 5  # ticks across a narrow panel


def draw_scatter(
    body: SubFigure, chart: ScatterChart, looks: Mapping[str, Look], columns: int, height: float
) -> float:
    """The grid of panels on common axes; the height that it should have, in inches."""
    lines = math.ceil(len(chart.panels) / columns)
    grid = body.subplots(lines, columns, sharex=True, sharey=True, squeeze=False).flatten()
    across, up = _ticks_across(chart), _ticks_up(chart)
    for place, axes in enumerate(grid):
        if place >= len(chart.panels):
            axes.set_axis_off()
            continue
        if chart.ratio:
            axes.set_xscale("log")
        axes.set_xlim(*across[0])
        axes.set_ylim(*up[0])
        _draw_panel(axes, chart, chart.panels[place], looks)
        draw_grid(axes, list(across[1]), list(up[1]))
        for axis, names in ((axes.xaxis, across[1]), (axes.yaxis, up[1])):
            axis.set_minor_locator(NullLocator())
            axis.set_major_locator(FixedLocator(list(names)))
            axis.set_major_formatter(FixedFormatter(list(names.values())))
        for label, name in zip(chart.rows, axes.get_yticklabels(), strict=False):
            name.set_color(looks[label].colour)
        heading = wrap(chart.panels[place].title, (ROOM - 1) / columns - 0.1, BODY, "bold")
        axes.set_title(heading, loc="left", size=BODY, weight="bold")
        lowest = place + columns >= len(chart.panels)
        axes.tick_params(labelleft=place % columns == 0, labelbottom=lowest)
        if place % columns == 0:
            axes.set_ylabel(chart.y_label, size=BODY)
        if lowest:
            axes.set_xlabel(chart.x_label, size=BODY)
    return lines * (_row_height(chart) * (len(chart.rows) + 1) if chart.rows else height)


def _row_names(chart: ScatterChart) -> list[str]:
    return [wrap(short_label(label), NAME, BODY) for label in chart.rows]


def _row_height(chart: ScatterChart) -> float:
    """Inches of a row, with room for the name that was broken into most lines."""
    return ROW * max((1 + name.count("\n") for name in _row_names(chart)), default=1)


def _draw_panel(axes: Axes, chart: ScatterChart, panel: ScatterPanel, looks: Mapping[str, Look]) -> None:
    for upright in chart.uprights:
        axes.axvline(upright, color=BASELINE.colour, ls=BASELINE.line, lw=0.9)
    for level, name in chart.levels.items():
        draw_limit(axes, level, name)
    for mark in panel.marks:
        _draw_mark(axes, mark, looks[mark.label])
    for row, words in panel.words.items():
        axes.text(fmean(chart.uprights[:2]), row, words, size=SIZE, ha="center", va="bottom")


def _draw_mark(axes: Axes, mark: Mark, look: Look) -> None:
    across, up = mark.across, mark.up
    if across.value is None or up.value is None:
        return
    for estimate, draw, at in ((across, axes.hlines, up.value), (up, axes.vlines, across.value)):
        if estimate.low is not None and estimate.high is not None:
            draw(at, estimate.low, estimate.high, color=look.colour, lw=1.2)
    # A hollow mark is the larger one, so that it shows around a filled one at the same place.
    fill, size = ("none", 8.0) if mark.hollow else (look.colour, 5.0)
    axes.plot(across.value, up.value, look.marker, color=look.colour, mfc=fill, mew=1.1, ms=size, zorder=4)


def _ticks_across(chart: ScatterChart) -> tuple[tuple[float, float], Mapping[float, str]]:
    """The limits of the horizontal axis, and its ticks with their names."""
    values = _values([mark.across for panel in chart.panels for mark in panel.marks])
    if chart.ratio:
        limits = RATIO.limits(values)
        return limits, RATIO.labels(*limits)
    return _linear_ticks([*values, *chart.uprights])


def _ticks_up(chart: ScatterChart) -> tuple[tuple[float, float], Mapping[float, str]]:
    """The same of the vertical axis, or the names of the rows from the top."""
    if chart.rows:
        names = _row_names(chart)
        return (len(names) - 0.5, -0.5), {float(row): name for row, name in enumerate(names)}
    return _linear_ticks([*_values([m.up for panel in chart.panels for m in panel.marks]), *chart.levels])


def _linear_ticks(values: list[float]) -> tuple[tuple[float, float], Mapping[float, str]]:
    low, high = min(values), max(values)
    room = BEYOND * (high - low) or 0.5
    ticks = linear_ticks(low - room, high + room, MOST)
    return (low - room, high + room), {tick: f"{tick:g}".replace("-", "−") for tick in ticks}


def _values(estimates: list[Estimate]) -> list[float]:
    return [value for e in estimates for value in (e.value, e.low, e.high) if value is not None]
