"""Points with whiskers: a figure over another, or a row for each implementation."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from matplotlib.axes import Axes
from matplotlib.figure import SubFigure

from harness.analysis.stats import Estimate
from harness.report.charts.drawing.panel import draw_grid, draw_limit, set_ticks
from harness.report.charts.drawing.panel_grid import panel_grid
from harness.report.charts.drawing.scales import RATIO, linear_ticks
from harness.report.charts.drawing.style import BASELINE, BODY, Look, wrap
from harness.report.charts.model import Mark, ScatterChart, ScatterPanel
from harness.report.format import short_label

ROW = 0.22  # inches
SIZE = 6.5  # points
NAME = 1.3  # inches that a row's name may take before it is broken
BEYOND = 0.08  # of the span of an axis, outside of the outermost figures
MOST = 5  # ticks across a narrow panel


def draw_scatter(body: SubFigure, chart: ScatterChart, looks: Mapping[str, Look]) -> float:
    """The panels on common axes; the height that they should have, in inches."""
    names = [wrap(short_label(label), NAME, BODY) for label in chart.rows]
    tallest = max((1 + name.count("\n") for name in names), default=1)
    height = ROW * tallest * (len(names) + 1) if names else None
    titles = [panel.title for panel in chart.panels]
    grid, inches = panel_grid(body, titles, chart.x_label, chart.y_label, height=height)
    across, up = _ticks_across(chart), _ticks_up(chart, names)
    for panel, (axes,) in zip(chart.panels, grid, strict=True):
        if chart.ratio:
            axes.set_xscale("log")
        axes.set_xlim(*across[0])
        axes.set_ylim(*up[0])
        _draw_panel(axes, chart, panel, looks)
        draw_grid(axes, list(across[1]), list(up[1]))
        set_ticks(axes.xaxis, across[1])
        set_ticks(axes.yaxis, up[1])
        for label, name in zip(chart.rows, axes.get_yticklabels(), strict=False):
            name.set_color(looks[label].colour)
    return inches


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


def _ticks_up(chart: ScatterChart, names: Sequence[str]) -> tuple[tuple[float, float], Mapping[float, str]]:
    """The limits and ticks of the vertical axis, or the `names` of the rows from the top."""
    if names:
        return (len(names) - 0.5, -0.5), {float(row): name for row, name in enumerate(names)}
    return _linear_ticks([*_values([m.up for panel in chart.panels for m in panel.marks]), *chart.levels])


def _linear_ticks(values: list[float]) -> tuple[tuple[float, float], Mapping[float, str]]:
    low, high = min(values), max(values)
    room = BEYOND * (high - low) or 0.5
    ticks = linear_ticks(low - room, high + room, MOST)
    return (low - room, high + room), {tick: f"{tick:g}".replace("-", "−") for tick in ticks}


def _values(estimates: list[Estimate]) -> list[float]:
    return [value for e in estimates for value in (e.value, e.low, e.high) if value is not None]
