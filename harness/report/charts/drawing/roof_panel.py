"""Work per second over FLOPs per byte, both logarithmic, under the roofs that bind them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import SubFigure
from matplotlib.lines import Line2D

from harness.core.grouped import grouped
from harness.report.charts.drawing.labels import spread
from harness.report.charts.drawing.panel import set_ticks
from harness.report.charts.drawing.panel_grid import panel_grid
from harness.report.charts.drawing.scales import decimal_ticks
from harness.report.charts.drawing.style import FAINT, INK, Look
from harness.report.format import per_second, trim_zeros

SIZE = 6.5  # points
LINE = 0.075  # the height of a roof's name over that of the panel
LineStyle = str | tuple[int, tuple[float, ...]]
RISING: tuple[LineStyle, ...] = ("-", (0, (6.0, 1.5)), (0, (4.0, 1.5, 1.0, 1.5)), (0, (2.0, 1.0)))
DATASHEET: LineStyle = (0, (1.0, 2.0))
FLOPS, BYTES = "FLOP/s", "B/s"


@dataclass(frozen=True)
class Roof:
    """A ceiling: of FLOP/s it is level, of bytes/s it rises with the intensity."""

    name: str
    value: float
    unit: str  # FLOPS or BYTES
    line: LineStyle = "-"
    datasheet: bool = False

    @property
    def words(self) -> str:
        rate = trim_zeros(per_second(self.value, None, None, self.unit)[0])
        return f"{self.name} {rate}" + (", datasheet" if self.datasheet else "")


@dataclass(frozen=True)
class RoofPoint:
    """A case or a stage: FLOPs per byte, and FLOPs per second with their interval."""

    label: str
    intensity: float
    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class RoofPanel:
    """Points of one kind under the roofs; those of a label are joined in their order."""

    title: str
    roofs: tuple[Roof, ...]
    points: tuple[RoofPoint, ...]


Limits = tuple[tuple[float, float], tuple[float, float]]


def draw_roofs(body: SubFigure, panels: Sequence[RoofPanel], looks: Mapping[str, Look]) -> float:
    """The panels side by side, with the same limits; their height in inches."""
    titles = [panel.title for panel in panels]
    grid, height = panel_grid(body, titles, "FLOPs per byte", "FLOPs per second")
    limits = _limits(panels)
    for panel, (axes,) in zip(panels, grid, strict=True):
        _set_scales(axes, limits)
        _draw_roofs(axes, panel.roofs, limits)
        _draw_points(axes, panel.points, looks)
    return height


def _limits(panels: Sequence[RoofPanel]) -> Limits:
    """All points with their intervals, the highest roof, and the intensities at which roofs meet."""
    points = [point for panel in panels for point in panel.points]
    roofs = [roof for panel in panels for roof in panel.roofs]
    level = [roof.value for roof in roofs if roof.unit == FLOPS]
    ridges = [max(level) / roof.value for roof in roofs if roof.unit == BYTES]
    across = [*(point.intensity for point in points), *ridges]
    up = [*(x for p in points for x in (p.value, p.low, p.high) if x), max(level)]
    return (min(across) / 8, max(across) * 8), (min(up) / 4, max(up) * 3)


def _set_scales(axes: Axes, limits: Limits) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(*limits[0])
    axes.set_ylim(*limits[1])
    for axis, (low, high), words in (
        (axes.xaxis, limits[0], lambda tick: f"{tick:g}"),
        (axes.yaxis, limits[1], lambda tick: trim_zeros(per_second(tick, tick, tick, "")[0])),
    ):
        set_ticks(axis, {tick: words(tick).strip() for tick in decimal_ticks(low, high)})
    axes.grid(visible=True, color=INK, alpha=FAINT, lw=0.5)


def _draw_roofs(axes: Axes, roofs: Sequence[Roof], limits: Limits) -> None:
    """Each from where it binds: level ones from the steepest rising one on, rising ones to the highest."""
    (left, right), (low, high) = limits
    level = max(roof.value for roof in roofs if roof.unit == FLOPS)
    steepest = max((roof.value for roof in roofs if roof.unit == BYTES), default=math.inf)
    for roof in roofs:
        ends = (roof.value / steepest, right) if roof.unit == FLOPS else (left, level / roof.value)
        values = [roof.value * (1.0 if roof.unit == FLOPS else end) for end in ends]
        axes.plot(ends, values, color=INK, lw=1.1, ls=roof.line, zorder=2)
    named = [roof for roof in roofs if roof.unit == FLOPS]
    heights = [math.log(roof.value / low) / math.log(high / low) + LINE / 2 for roof in named]
    for roof, height in zip(named, spread(heights, [LINE] * len(heights)), strict=True):
        axes.text(0.99, height, roof.words, size=SIZE, ha="right", va="center", transform=axes.transAxes)


def roof_samples(roofs: Sequence[Roof]) -> dict[str, Artist]:
    """The legend of the rising roofs, which have no room for names where they meet."""
    rising = [roof for roof in roofs if roof.unit == BYTES]
    return {roof.words: Line2D([], [], color=INK, lw=1.1, ls=roof.line) for roof in rising}


def _draw_points(axes: Axes, points: Sequence[RoofPoint], looks: Mapping[str, Look]) -> None:
    for label, own in grouped(points, lambda point: point.label).items():
        look = looks[label]
        across, up = [point.intensity for point in own], [point.value for point in own]
        axes.plot(across, up, color=look.colour, lw=0.8, ls=look.line, marker=look.marker, ms=5, zorder=4)
        bounded = [(p.intensity, p.low, p.high) for p in own if p.low is not None and p.high is not None]
        if bounded:
            axes.vlines(*zip(*bounded, strict=True), color=look.colour, lw=1.2, zorder=3)
