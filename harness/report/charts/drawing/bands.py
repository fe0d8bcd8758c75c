"""Shares of a whole over the length: a band for each part, with the lengths at which two change places."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import SubFigure

from harness.report.charts.drawing.labels import LineEnd, label_ends
from harness.report.charts.drawing.panel import set_ticks, tick_lengths
from harness.report.charts.drawing.panel_grid import columns_for, panel_grid
from harness.report.charts.drawing.scales import length_limits
from harness.report.charts.drawing.style import INK
from harness.report.charts.model import Panel

FILL = 0.55  # the opacity of a band


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


def draw_bands(body: SubFigure, panels: Sequence[BandPanel], colours: Mapping[str, str]) -> float:
    """The panels side by side; a single one has the names of its bands beside it."""
    titles = [panel.title for panel in panels]
    grid, height = panel_grid(body, titles, "sequence length", "share of a call's time", share_x=False)
    for panel, (axes,) in zip(panels, grid, strict=True):
        ends = _draw(axes, panel, colours)
        tick_lengths(axes, [Panel("", panel.lengths, (), ())], 0.075 * columns_for(len(panels)))
        if len(panels) == 1:
            label_ends(axes, ends)
    return height


def _draw(axes: Axes, panel: BandPanel, colours: Mapping[str, str]) -> list[LineEnd]:
    """Draw the bands; where each ends, with its share there."""
    axes.set_xscale("log", base=2)
    axes.set_xlim(*length_limits(panel.lengths))
    axes.set_ylim(0, 1)
    set_ticks(axes.yaxis, {share: f"{100 * share:.0f} %" for share in (0, 0.25, 0.5, 0.75, 1)})
    ends: list[LineEnd] = []
    base = [0.0] * len(panel.lengths)
    for band in panel.bands:
        top = [low + share for low, share in zip(base, band.shares, strict=True)]
        colour, name = colours[band.name], f"{band.name} {100 * band.shares[-1]:.1f} %"
        axes.fill_between(panel.lengths, base, top, color=colour, alpha=FILL, lw=0)
        axes.plot(panel.lengths, top, color=colour, lw=0.8)
        ends.append(LineEnd((panel.lengths[-1], (base[-1] + top[-1]) / 2), name, colour))
        base = top
    for length, _ in panel.changes:
        axes.axvline(length, color=INK, ls=":", lw=1.0)
    return ends
