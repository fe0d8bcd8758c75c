"""The page: title, subtitle, panels with outcome strips, legend, footnotes, in matplotlib's own layout."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from matplotlib.artist import Artist
from matplotlib.figure import Figure, SubFigure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D

from harness.report.charts.drawing.labels import label_ends
from harness.report.charts.drawing.panel import View, draw_outcome_strip, draw_panel, tick_lengths
from harness.report.charts.drawing.panel_grid import columns_for, panel_grid
from harness.report.charts.drawing.scatter import draw_scatter
from harness.report.charts.drawing.style import BODY, POINTS, ROOM, WIDTH, Look, wrap
from harness.report.charts.model import AnyChart, Captioned, ScatterChart
from harness.report.format import short_label

TITLE, NOTE = 12.0, 7.0  # points
LEADING = 1.25  # the height of a line over its size
INSIDE = (0.025, 0.0, 0.935, 1.0)  # what the panels may take; names beside them grow in a wider font
STRIP = 0.2  # inches of a row

LONGEST = 28  # characters of a name that may stand beside a panel


@dataclass(frozen=True)
class Sheet:
    """The texts around the panels in every chart of a suite; `question` is the suite's own, if it has one."""

    question: str | None
    constants: str
    footer: str
    baseline: str


def draw_page(chart: AnyChart, sheet: Sheet, looks: Mapping[str, Look]) -> Figure:
    """Draw a chart on a page.

    Lines are named at their ends in a single panel with short names, else in a legend. Rows of points have
    their names at the left.
    """
    alone = len(chart.panels) == 1 and all(len(short_label(label)) <= LONGEST for label in looks)
    direct = bool(chart.rows) if isinstance(chart, ScatterChart) else alone

    def draw(body: SubFigure) -> float:
        if isinstance(chart, ScatterChart):
            return draw_scatter(body, chart, looks)
        return _draw_panels(body, View.of(chart, looks, sheet.baseline), direct=direct)

    return compose_page(chart, sheet, {} if direct else line_samples(looks, sheet.baseline), draw)


def compose_page(
    chart: Captioned, sheet: Sheet, samples: Mapping[str, Artist], draw: Callable[[SubFigure], float]
) -> Figure:
    """A page: texts and a legend (`samples`) around what `draw` draws, which returns its height in inches."""
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
    """The legend of implementations: name → a piece of its line with its marker."""
    return {
        short_label(label) + " (baseline)" * (label == baseline): line_sample(look)
        for label, look in looks.items()
    }


def line_sample(look: Look) -> Artist:
    return Line2D([], [], color=look.colour, ls=look.line, lw=look.width, marker=look.marker, ms=5)


def _draw_panels(body: SubFigure, view: View, *, direct: bool) -> float:
    """The panels, each with its outcome strip below; the height that they should have, in inches."""
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
