"""Shares of a whole over the length: a band for each part, with the lengths at which two change places."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import SubFigure
from matplotlib.ticker import FixedLocator, NullLocator

from harness.report.charts.drawing.labels import SIZE, spread
from harness.report.charts.drawing.page import PANELS, columns_for
from harness.report.charts.drawing.panel import tick_lengths
from harness.report.charts.drawing.scales import length_limits
from harness.report.charts.drawing.style import INK
from harness.report.charts.drawing.text import BODY, ROOM, wrap
from harness.report.charts.model import Panel

FILL = 0.55  # the opacity of a band
LINE = 0.055  # the height of a name beside the bands over theirs


@dataclass(frozen=True)
class Band:
    """A part of the whole: its share, 0 to 1, at each length of the panel."""

    name: str
    shares: tuple[float, ...]


@dataclass(frozen=True)
class BandPanel:
    """One whole; the first band lies at the bottom. `changes` are (length, sentence), for two that cross."""

    title: str
    lengths: tuple[int, ...]
    bands: tuple[Band, ...]
    changes: tuple[tuple[float, str], ...]


def bands_of(panels: Sequence[BandPanel], colours: Mapping[str, str]) -> Callable[[SubFigure], float]:
    """Draw the panels side by side; a single one has the names of its bands beside it."""

    def draw(body: SubFigure) -> float:
        columns = columns_for(len(panels))
        rows = -(-len(panels) // columns)
        grid = body.subplots(rows, columns, sharey=True, squeeze=False)
        for place in range(rows * columns):
            axes = grid[place // columns][place % columns]
            if place >= len(panels):
                axes.set_axis_off()
                continue
            _draw(axes, panels[place], colours)
            heading = wrap(panels[place].title, (ROOM - 1) / columns - 0.1, BODY, "bold")
            axes.set_title(heading, loc="left", size=BODY, weight="bold")
            tick_lengths(axes, [Panel("", panels[place].lengths, (), ())], 0.075 * columns)
            axes.set_xlabel("sequence length", size=BODY)
            if place % columns == 0:
                axes.set_ylabel("share of a call's time", size=BODY, labelpad=10)
            if len(panels) == 1:
                _name_ends(axes, panels[place], colours)
        return rows * PANELS[columns]

    return draw


def _draw(axes: Axes, panel: BandPanel, colours: Mapping[str, str]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xlim(*length_limits(panel.lengths))
    axes.set_ylim(0, 1)
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_locator(FixedLocator([0, 0.25, 0.5, 0.75, 1]))
    axes.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
    base = [0.0] * len(panel.lengths)
    for band in panel.bands:
        top = [low + share for low, share in zip(base, band.shares, strict=True)]
        colour = colours[band.name]
        axes.fill_between(panel.lengths, base, top, color=colour, alpha=FILL, lw=0)
        axes.plot(panel.lengths, top, color=colour, lw=0.8)
        base = top
    for length, _ in panel.changes:
        axes.axvline(length, color=INK, ls=":", lw=1.0)


def _name_ends(axes: Axes, panel: BandPanel, colours: Mapping[str, str]) -> None:
    middles: list[float] = []
    base = 0.0
    for band in panel.bands:
        middles.append(base + band.shares[-1] / 2)
        base += band.shares[-1]
    heights = spread(middles, [LINE] * len(middles))
    for band, middle, height in zip(panel.bands, middles, heights, strict=True):
        axes.annotate(
            f"{band.name} {100 * band.shares[-1]:.1f} %",
            (panel.lengths[-1], middle),
            (1.04, height),
            textcoords="axes fraction",
            annotation_clip=False,
            va="center",
            size=SIZE,
            color=colours[band.name],
            arrowprops={
                "arrowstyle": "-",
                "color": colours[band.name],
                "lw": 0.6,
                "ls": ":",
                "relpos": (0, 0.5),
            },
        )
