"""Names at the ends of lines, to the right of a single panel."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from matplotlib.axes import Axes

from harness.report.charts.drawing.style import wrap

SIZE = 7.5  # points
WIDTH = 1.9  # inches; longer names are broken
LINE = 0.065  # height of a line of text as a share of the panel's


@dataclass(frozen=True)
class LineEnd:
    """The last point of a line, with its name and colour."""

    at: tuple[float, float]
    name: str
    colour: str


def label_ends(axes: Axes, ends: Sequence[LineEnd]) -> None:
    """Write the names in a column, each next to its line's end or as near as the others allow."""
    names = [wrap(end.name, WIDTH, SIZE) for end in ends]
    in_axes = axes.transScale + axes.transLimits
    heights = [float(in_axes.transform(end.at)[1]) for end in ends]
    rooms = [LINE * (1 + name.count("\n")) for name in names]
    for end, name, height in zip(ends, names, spread(heights, rooms), strict=True):
        axes.annotate(
            name,
            end.at,
            (1.04, height),
            textcoords="axes fraction",
            annotation_clip=False,
            va="center",
            size=SIZE,
            color=end.colour,
            arrowprops={"arrowstyle": "-", "color": end.colour, "lw": 0.6, "ls": ":", "relpos": (0, 0.5)},
        )


def spread(heights: Sequence[float], rooms: Sequence[float]) -> list[float]:
    """Places near the heights, in their order and without overlap, within 0 to 1 if they fit."""
    order = sorted(range(len(heights)), key=lambda place: heights[place])
    places = list(heights)
    for below, above in pairwise(order):
        places[above] = max(places[above], places[below] + (rooms[below] + rooms[above]) / 2)
    ceiling = 1.0
    for place in reversed(order):
        places[place] = min(places[place], ceiling - rooms[place] / 2)
        ceiling = places[place] - rooms[place] / 2
    return places
