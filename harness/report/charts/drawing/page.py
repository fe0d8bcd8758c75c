"""The page: title, legend, panels side by side, footnotes. Every length is in inches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from harness.report.charts.drawing import legend, text
from harness.report.charts.drawing.axes import draw_panel, tick_lengths
from harness.report.charts.drawing.layout import GAP, MARGIN, Layout
from harness.report.charts.drawing.outcome_strip import draw_strip
from harness.report.charts.drawing.style import INK, SOFT, Look
from harness.report.charts.model import Chart, Panel

TITLE, BODY, NOTE = 12.0, 8.5, 7.0  # points
APART = 0.08  # between title, legend, panels and footnotes
VALUE_NAME = 0.62  # left of a panel, the name of its values


@dataclass(frozen=True)
class Sheet:
    """What surrounds the panels in every chart of a suite."""

    subtitle: Sequence[str]
    footer: str
    baseline: str


@dataclass(frozen=True)
class Block:
    """Lines of one size, from `top` downwards once written."""

    lines: Sequence[str]
    size: float
    colour: str = INK
    weight: str = "normal"

    @property
    def height(self) -> float:
        return text.height(len(self.lines), self.size)


def draw_page(chart: Chart, sheet: Sheet, looks: Mapping[str, Look]) -> Figure:
    layout = Layout.of(chart, looks, sheet.baseline)
    room = layout.across - 2 * MARGIN
    title = Block(text.wrap(chart.title, room, TITLE, "bold"), TITLE, weight="bold")
    subtitle = Block([line for w in sheet.subtitle for line in text.wrap(w, room, BODY)], BODY, SOFT)
    key = legend.entries(chart, looks, sheet.baseline, room)
    notes = Block([line for note in chart.notes for line in _note_lines(note, room)], NOTE)
    footer = Block(text.wrap(sheet.footer, room, NOTE), NOTE, SOFT)
    words = sum(block.height for block in (title, subtitle, notes, footer))
    down = 2 * MARGIN + words + legend.height(key) + layout.down + 3 * APART
    figure = Figure(figsize=(layout.across, down), facecolor="white")

    top = _write(figure, subtitle, _write(figure, title, down - MARGIN)) - APART
    legend.draw_legend(figure, key, MARGIN, top)
    top -= legend.height(key) + APART
    for place, panel in enumerate(chart.panels):
        row, column = divmod(place, layout.columns)
        left = MARGIN + layout.left + column * (layout.left + layout.width)
        _draw_cell(figure, panel, layout, (left, top - row * layout.step), f"panel{place}")
    _write(figure, footer, _write(figure, notes, top - layout.down - APART))
    return figure


def _draw_cell(figure: Figure, panel: Panel, layout: Layout, corner: tuple[float, float], name: str) -> None:
    """A panel and its strip; `corner` is the upper left one of its heading."""
    left, inches = corner[0], figure.dpi_scale_trans
    figure.text(left, corner[1] - 0.14, panel.title, size=BODY, weight="bold", color=INK, transform=inches)
    bottom = corner[1] - layout.heading - layout.height
    main = _axes(figure, (left, bottom, layout.width, layout.height), name)
    main.set_ylabel(layout.chart.y_label, size=BODY, color=INK)
    main.yaxis.set_label_coords(-VALUE_NAME / layout.width, 0.5)
    draw_panel(main, panel, layout)
    tick_lengths(main, panel, layout, in_inches=False)
    lowest = main
    if layout.rows:
        main.tick_params(axis="x", labelbottom=False)
        tall = layout.strip - GAP
        lowest = _axes(figure, (left, bottom - layout.strip, layout.width, tall), f"{name}.strip")
        lowest.set_xlim(0, layout.width)
        lowest.set_ylim(0, tall)
        draw_strip(lowest, panel.marks, layout)
        tick_lengths(lowest, panel, layout, in_inches=True)
    lowest.set_xlabel("sequence length", size=BODY, color=INK, labelpad=2)


def _axes(figure: Figure, box: tuple[float, float, float, float], name: str) -> Axes:
    """`box` is left, bottom, width and height."""
    across, down = figure.get_size_inches()
    left, bottom, width, height = box
    axes = figure.add_axes((left / across, bottom / down, width / across, height / down))
    axes.set_gid(name)
    return axes


def _note_lines(note: str, room: float) -> list[str]:
    first, *rest = text.wrap(note, room - 0.12, NOTE)
    return [f"• {first}", *(f"   {line}" for line in rest)]


def _write(figure: Figure, block: Block, top: float) -> float:
    """The height where the next block may stand."""
    for place, line in enumerate(block.lines):
        figure.text(
            MARGIN,
            top - text.height(place, block.size),
            line,
            size=block.size,
            color=block.colour,
            weight=block.weight,
            va="top",
            transform=figure.dpi_scale_trans,
        )
    return top - block.height
