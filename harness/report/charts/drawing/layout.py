"""What all panels of a chart share: their size in inches, their axes' limits, the rows of their strips."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from harness.report.charts.drawing import text
from harness.report.charts.drawing.scales import BYTES, SCALES, Scale, floor_of, length_limits
from harness.report.charts.drawing.style import Look
from harness.report.charts.model import Chart
from harness.report.format import short_label

MARGIN = 0.2  # around the page
HEADING, BARE = 0.3, 0.12  # above a panel: with a title, and without
AXIS = 0.46  # below a panel, with the lengths and their name
NAMES = (0.85, 1.5)  # left of a panel: the values and their name; at most, for names of the strip's rows
GAP = 0.05  # between a panel and its strip

ROW, PRINTED_ROW = 0.19, 0.30  # a row of the strip: alone, and with small print beneath its symbols
NAME = 6.5  # points of a row's name

# columns → width and height of the axes of one panel
_SIZES = {1: (6.6, 3.5), 2: (4.3, 2.7), 3: (3.5, 2.3)}


@dataclass(frozen=True)
class Layout:
    """`left` is the room before each panel; `rows` gives the height of each row of a strip.

    `lengths` and `values` are the limits of the axes, alike in all panels so that these can be
    compared by eye; `floor` is where 0 B stands, if anything is 0.
    """

    chart: Chart
    looks: Mapping[str, Look]
    baseline: str
    rows: Mapping[str, float]
    columns: int
    heading: float
    left: float
    width: float
    height: float
    scale: Scale
    lengths: tuple[float, float]
    values: tuple[float, float]
    floor: float | None

    @classmethod
    def of(cls, chart: Chart, looks: Mapping[str, Look], baseline: str) -> "Layout":
        panels = len(chart.panels)
        columns = 1 if panels == 1 else 2 if panels in {2, 4} else 3
        rows = _row_heights(chart, looks)
        scale = SCALES[chart.scale]
        values = [value for panel in chart.panels for value in panel.values]
        floor = floor_of(values) if scale is BYTES else None
        return cls(
            chart=chart,
            looks=looks,
            baseline=baseline,
            rows=rows,
            columns=columns,
            heading=HEADING if panels > 1 else BARE,
            left=max(NAMES[0], _name_room(rows)) if _name_room(rows) <= NAMES[1] else NAMES[0],
            width=_SIZES[columns][0],
            height=_SIZES[columns][1],
            scale=scale,
            lengths=length_limits(seq for panel in chart.panels for seq in panel.lengths),
            values=scale.limits(values if floor is None else [*values, floor]),
            floor=floor,
        )

    @property
    def names_fit(self) -> bool:
        """Whether the names of the strip's rows have room; their markers always do."""
        return _name_room(self.rows) <= self.left

    @property
    def strip(self) -> float:
        return sum(self.rows.values()) + GAP if self.rows else 0.0

    @property
    def across(self) -> float:
        """The width of the page."""
        return self.columns * (self.left + self.width) + 2 * MARGIN

    @property
    def step(self) -> float:
        """The height of one row of panels."""
        return self.heading + self.height + self.strip + AXIS

    @property
    def down(self) -> float:
        """The height of all panels."""
        return math.ceil(len(self.chart.panels) / self.columns) * self.step

    def at(self, seq: float) -> float:
        """Inches from the left edge of a panel to a length."""
        low, high = self.lengths
        return self.width * math.log(seq / low) / math.log(high / low)

    def on(self, value: float) -> float:
        """Where a value stands: 0 on the floor, all others at themselves."""
        return self.floor if self.floor is not None and not value else value


def _row_heights(chart: Chart, labels: Iterable[str]) -> dict[str, float]:
    """Implementation → inches, from the top."""
    printed = {mark.label for panel in chart.panels for mark in panel.marks if mark.texts}
    return {label: PRINTED_ROW if label in printed else ROW for label in chart.rows(labels)}


def _name_room(rows: Iterable[str]) -> float:
    """Inches that the rows' names and markers need at the left."""
    return max((text.width(short_label(label), NAME) for label in rows), default=0.0) + 0.3
