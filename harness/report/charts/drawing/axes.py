"""The axes of one panel: scales and ticks, the line to compare with, crossings."""

from matplotlib.axes import Axes
from matplotlib.ticker import FixedFormatter, FixedLocator, NullFormatter, NullLocator

from harness.core.units import format_bytes, format_count
from harness.report.charts.drawing import text
from harness.report.charts.drawing.layout import Layout
from harness.report.charts.drawing.lines import draw_series
from harness.report.charts.drawing.scales import TIME, minor_ticks, thin_labels
from harness.report.charts.drawing.style import GRID, INK, PAPER, SOFT, WARNING, Look
from harness.report.charts.model import CROSSOVER, Panel
from harness.report.format import trim_zeros

TICK = 7.5  # points


def draw_panel(axes: Axes, panel: Panel, layout: Layout) -> None:
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlim(*layout.lengths)
    axes.set_ylim(*layout.values)
    for side in ("right", "top"):
        axes.spines[side].set_visible(False)
    axes.grid(color=GRID, lw=0.6)
    axes.set_axisbelow(True)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_minor_formatter(NullFormatter())
    _tick_values(axes, layout)
    if layout.scale.anchor:
        _draw_baseline(axes, layout)
    if panel.limit is not None:
        _draw_limit(axes, panel.limit, panel.limit_named)
    drawn = [series for series in panel.series if series.points]
    for place, series in enumerate(drawn):
        draw_series(axes, series, panel, layout, aside=_aside(panel, place, len(drawn)))
    for mark in panel.marks:
        if mark.symbol == CROSSOVER:
            colour = layout.looks[mark.label].colour
            axes.plot([mark.seq] * 2, [layout.values[0], 1.0], ":", color=colour, lw=0.9)
            axes.plot(mark.seq, 1.0, "|", color=colour, ms=9, mew=1.6, zorder=5)
    if not drawn:
        sentence, inside = layout.chart.empty, axes.transAxes
        axes.text(0.5, 0.75, sentence, size=8.5, color=SOFT, ha="center", va="center", transform=inside)


def _aside(panel: Panel, place: int, count: int) -> float:
    """At a single length the implementations stand beside each other, within half an octave."""
    return 2 ** (0.5 * ((place + 0.5) / count - 0.5)) if len(panel.lengths) == 1 else 1.0


def tick_lengths(axes: Axes, panel: Panel, layout: Layout, *, in_inches: bool) -> None:
    """A tick at every length of the grid, and as many labels as have room."""

    def fits(shorter: int, longer: int) -> bool:
        half = sum(text.width(format_count(seq), TICK) for seq in (shorter, longer)) / 2
        return layout.at(longer) - layout.at(shorter) > half + 0.05

    labelled = set(thin_labels(list(panel.lengths), fits))
    places = [layout.at(seq) if in_inches else float(seq) for seq in panel.lengths]
    axes.xaxis.set_major_locator(FixedLocator(places))
    names = [format_count(seq) if seq in labelled else "" for seq in panel.lengths]
    axes.xaxis.set_major_formatter(FixedFormatter(names))


def _tick_values(axes: Axes, layout: Layout) -> None:
    axes.yaxis.set_minor_locator(NullLocator())
    if not any(panel.values for panel in layout.chart.panels):
        axes.yaxis.set_major_locator(NullLocator())
        return
    labels = layout.scale.labels(*layout.values)
    if layout.floor is not None:
        labels = {tick: name for tick, name in labels.items() if tick >= 1.9 * layout.floor}
        labels[layout.floor] = format_bytes(0)
        axes.axhline(layout.floor, color=SOFT, lw=0.7, ls=(0, (1, 2)))
    axes.yaxis.set_major_locator(FixedLocator(list(labels)))
    axes.yaxis.set_major_formatter(FixedFormatter(list(labels.values())))
    if layout.scale is TIME:
        axes.yaxis.set_minor_locator(FixedLocator(minor_ticks(*layout.values)))


def _draw_baseline(axes: Axes, layout: Layout) -> None:
    """The 1× line, in the baseline's own look; slower is shaded."""
    look = layout.looks.get(layout.baseline, Look(INK, "s", "--"))
    axes.axhspan(layout.values[0], 1.0, color=PAPER, zorder=0)
    axes.axhline(1.0, color=look.colour, ls=look.line, lw=look.width, gid=f"{axes.get_gid()}.one")


def _draw_limit(axes: Axes, limit: float, side: str) -> None:
    axes.axhline(limit, color=WARNING, ls="-.", lw=1.0, gid=f"{axes.get_gid()}.limit")
    axes.annotate(
        f"limit {trim_zeros(format_bytes(limit))}",
        (1, limit) if side == "right" else (0, limit),
        (-2, 2) if side == "right" else (2, 2),
        xycoords=axes.get_yaxis_transform(),
        textcoords="offset points",
        ha=side,
        va="bottom",
        size=6.5,
        color=WARNING,
    )
