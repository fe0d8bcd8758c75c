"""A chart's page: title, subtitle, panels with outcome strips, legend, footnotes, laid out by matplotlib."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D

from harness.analysis.stats import Estimate
from harness.report.charts.drawing.labels import label_ends
from harness.report.charts.drawing.panel import (
    View,
    draw_grid,
    draw_limit,
    draw_outcome_strip,
    draw_panel,
    set_ticks,
    tick_lengths,
)
from harness.report.charts.drawing.scales import RATIO, linear_ticks
from harness.report.charts.drawing.style import BASELINE, BODY, POINTS, ROOM, WIDTH, Look, wrap
from harness.report.charts.model import AnyChart, Captioned, Mark, ScatterChart, ScatterPanel
from harness.report.format import short_label

HEIGHTS = {1: 3.2, 2: 2.7, 3: 2.1}  # columns → height of a panel with its axes, in inches


def columns_for(panels: int) -> int:
    return {1: 1, 2: 2, 4: 2}.get(panels, 3)


def panel_grid(
    body: SubFigure,
    titles: Sequence[str],
    x_label: str,
    y_label: str,
    *,
    height: float | None = None,
    strip: float = 0.0,
    share_x: bool = True,
) -> tuple[list[list[Axes]], float]:
    """The axes of each panel, with those of a `strip` below it, and the total height in inches.

    Value labels are left of each row. Length labels are below each column, or below every panel without
    `share_x`.
    """
    columns = columns_for(len(titles))
    rows = math.ceil(len(titles) / columns)
    parts = [height or HEIGHTS[columns], *([strip] if strip else [])]
    ratios = parts * rows
    grid = body.subplots(
        len(ratios), columns, sharex=share_x, squeeze=False, gridspec_kw={"height_ratios": ratios}
    )
    places = grid.reshape(rows, len(parts), columns).swapaxes(1, 2).reshape(-1, len(parts))
    for spare in places[len(titles) :].flat:
        spare.set_axis_off()
    for place, (title, own) in enumerate(zip(titles, places, strict=False)):
        heading = wrap(title, (ROOM - 1) / columns - 0.1, BODY, "bold")
        own[0].set_title(heading, loc="left", size=BODY, weight="bold")
        own[0].tick_params(axis="y", labelleft=place % columns == 0)
        if place % columns == 0:
            own[0].set_ylabel(y_label, size=BODY, labelpad=10)
        lowest = not share_x or place + columns >= len(titles)
        for axes in own:
            axes.tick_params(axis="x", labelbottom=lowest and axes is own[-1])
        if lowest:
            own[-1].set_xlabel(x_label, size=BODY)
    return places[: len(titles)].tolist(), sum(ratios)


ROW = 0.22  # inches
SIZE = 6.5  # points
NAME = 1.3  # inches; longer names of rows are broken
BEYOND = 0.08  # margin of an axis beyond the outermost figures, as a share of its span
MOST = 5  # ticks of a narrow panel


def draw_scatter(body: SubFigure, chart: ScatterChart, looks: Mapping[str, Look]) -> float:
    """Draw the panels on common axes; return the height that they need, in inches."""
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
    # A hollow mark is larger, so that it is visible around a filled one at the same place.
    fill, size = ("none", 8.0) if mark.hollow else (look.colour, 5.0)
    axes.plot(across.value, up.value, look.marker, color=look.colour, mfc=fill, mew=1.1, ms=size, zorder=4)


def _ticks_across(chart: ScatterChart) -> tuple[tuple[float, float], Mapping[float, str]]:
    """The limits of the horizontal axis, and its ticks with their labels."""
    values = _values([mark.across for panel in chart.panels for mark in panel.marks])
    if chart.ratio:
        limits = RATIO.limits(values)
        return limits, RATIO.labels(*limits)
    return _linear_ticks([*values, *chart.uprights])


def _ticks_up(chart: ScatterChart, names: Sequence[str]) -> tuple[tuple[float, float], Mapping[float, str]]:
    """The limits and ticks of the vertical axis; with `names` one tick per row, from the top."""
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


TITLE, NOTE = 12.0, 7.0  # points
LEADING = 1.25  # line height over font size
INSIDE = (0.025, 0.0, 0.935, 1.0)  # area of the panels; a wider font needs more room for names next to them
STRIP = 0.2  # inches of a row

LONGEST = 28  # characters of a name next to a panel


@dataclass(frozen=True)
class Sheet:
    """The texts around the panels in every chart of a suite; `question` is the suite's, if it has one."""

    question: str | None
    constants: str
    footer: str
    baseline: str


def draw_page(chart: AnyChart, sheet: Sheet, looks: Mapping[str, Look]) -> Figure:
    """Draw a chart on a page.

    A single panel with short names has them at the ends of its lines, otherwise there is a legend. Rows of
    points have their names at the left.
    """
    single = len(chart.panels) == 1 and all(len(short_label(label)) <= LONGEST for label in looks)
    direct = bool(chart.rows) if isinstance(chart, ScatterChart) else single

    def draw(body: SubFigure) -> float:
        if isinstance(chart, ScatterChart):
            return draw_scatter(body, chart, looks)
        return _draw_panels(body, View.of(chart, looks, sheet.baseline), direct=direct)

    return compose_page(chart, sheet, {} if direct else line_samples(looks, sheet.baseline), draw)


def compose_page(
    chart: Captioned, sheet: Sheet, samples: Mapping[str, Artist], draw: Callable[[SubFigure], float]
) -> Figure:
    """A page: texts and a legend (`samples`) around the panels, whose height in inches `draw` returns."""
    title = wrap(chart.title, ROOM, TITLE, "bold")
    question = sheet.question or (chart.question if chart.finding else "")
    subtitle = "\n".join(wrap(line, ROOM, BODY) for line in (question, sheet.constants) if line)
    footnotes = [*(f"• {note}" for note in chart.notes), sheet.footer]
    notes = "\n".join(wrap(note, ROOM, NOTE) for note in footnotes)
    names = [wrap(name, ROOM - 0.5, BODY) for name in samples]
    legend_columns = round(ROOM * POINTS / BODY / (max(map(len, names), default=1) + 6)) or 1

    page = Figure(layout=ConstrainedLayoutEngine(rect=INSIDE))
    page.suptitle(title, x=INSIDE[0], ha="left", size=TITLE, weight="bold")
    page.supxlabel(notes, x=INSIDE[0], ha="left", size=NOTE)
    body = page.add_subfigure(page.add_gridspec()[0])
    body.suptitle(subtitle, x=0, ha="left", size=BODY)
    panels = draw(body)
    if names:
        handles = list(samples.values())
        body.legend(handles, names, loc="outside lower left", ncols=legend_columns, fontsize=BODY - 1)
    legend = "\n" * math.ceil(len(names) / legend_columns)
    texts = ((title, TITLE), (subtitle + legend, BODY), (notes, NOTE))
    lines = sum(size * LEADING * (text.count("\n") + 2) for text, size in texts)
    page.set_size_inches(WIDTH, panels + lines / POINTS)
    return page


def line_samples(looks: Mapping[str, Look], baseline: str = "") -> dict[str, Artist]:
    """The legend of implementations: name → a sample of its line with its marker."""
    return {
        short_label(label) + " (baseline)" * (label == baseline): line_sample(look)
        for label, look in looks.items()
    }


def line_sample(look: Look) -> Artist:
    return Line2D([], [], color=look.colour, ls=look.line, lw=look.width, marker=look.marker, ms=5)


def _draw_panels(body: SubFigure, view: View, *, direct: bool) -> float:
    """Draw the panels, each with its outcome strip below; return the height that they need, in inches."""
    chart = view.chart
    rows = chart.strip_rows(view.looks)
    titles = [panel.title for panel in chart.panels]
    grid, height = panel_grid(body, titles, "sequence length", chart.y_label, strip=STRIP * len(rows))
    for panel, (axes, *strip) in zip(chart.panels, grid, strict=True):
        ends = draw_panel(axes, panel, view)
        tick_lengths(axes, chart.panels, 0.075 * columns_for(len(grid)))
        if direct:
            label_ends(axes, ends)
        for below in strip:
            draw_outcome_strip(below, panel, rows, view.looks, named=direct)
    return height
