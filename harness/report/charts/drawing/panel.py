"""One panel: scales and ticks, the baseline, points with their intervals, crossings."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from harness.core.units import format_bytes, format_count
from harness.report.charts.drawing.labels import LineEnd
from harness.report.charts.drawing.scales import BYTES, floor_of, length_limits, thin_labels
from harness.report.charts.drawing.style import BASELINE, FAINT, INK, WARNING, Look
from harness.report.charts.model import Chart, Panel, Series, stretches
from harness.report.format import short_bytes, short_label

LIGHT = (0, (1.0, 1.5))  # dots of a second figure's line
PUBLISHED = (0, (1.0, 2.5))  # dots of a published curve
SIZE = 6.5  # points


@dataclass(frozen=True)
class View:
    """The axes that all panels of a chart share, so that they can be compared by eye.

    `lengths` and `values` are the limits of the axes; `floor` is the height of 0 B, if a value is 0.
    """

    chart: Chart
    looks: Mapping[str, Look]
    baseline: str
    lengths: tuple[float, float]
    values: tuple[float, float]
    floor: float | None

    @classmethod
    def of(cls, chart: Chart, looks: Mapping[str, Look], baseline: str) -> "View":
        values = [value for panel in chart.panels for value in panel.values]
        floor = floor_of(values) if chart.scale is BYTES else None
        limits = chart.scale.limits(values if floor is None else [*values, floor])
        lengths = length_limits(seq for panel in chart.panels for seq in panel.lengths)
        return cls(chart, looks, baseline, lengths, limits, floor)

    def on(self, value: float) -> float:
        """The height of a value: the floor for 0, else the value."""
        return self.floor if self.floor is not None and not value else value


def draw_panel(axes: Axes, panel: Panel, view: View) -> list[LineEnd]:
    """Draw a panel; return the ends of its lines, for names next to them."""
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlim(*view.lengths)
    axes.set_ylim(*view.values)
    draw_grid(axes, panel.lengths, _tick_values(axes, view))
    ends: list[LineEnd] = []
    if view.chart.scale.anchor:
        look = view.looks.get(view.baseline, BASELINE)
        margin = view.chart.margin
        band = (view.values[0], 1.0) if margin is None else (1 / margin, margin)
        axes.axhspan(*band, color=INK, alpha=0.3 * FAINT, lw=0)
        axes.axhline(1.0, color=look.colour, ls=look.line, lw=look.width)
        name = f"{short_label(view.baseline)} (baseline)" if view.baseline else "baseline"
        ends.append(LineEnd((view.lengths[1], 1.0), name, look.colour))
    if panel.limit is not None:
        draw_limit(axes, panel.limit, f"limit {short_bytes(panel.limit)}")
    drawn = [series for series in panel.series if series.points]
    for place, series in enumerate(drawn):
        _draw_series(axes, series, panel, view, _shift(panel, place, len(drawn)))
    for label, curve in panel.published:
        colour = view.looks[label].colour
        axes.plot(*zip(*curve.points, strict=True), ls=PUBLISHED, lw=1.2, color=colour)
        ends.append(LineEnd(curve.points[-1], f"{short_label(label)}, {curve.source} (published)", colour))
    for label, seq in panel.crossings:
        axes.plot([seq] * 2, [view.values[0], 1.0], ":", color=view.looks[label].colour, lw=0.9)
    if not drawn:
        inside = axes.transAxes
        axes.text(0.5, 0.75, view.chart.empty, size=8.5, ha="center", va="center", transform=inside)
    return ends + _line_ends(drawn, view)


def _line_ends(drawn: list[Series], view: View) -> list[LineEnd]:
    """One end per implementation: the end of its last line."""
    last = {series.label: series.points[-1] for series in drawn if not series.light}
    ends: list[LineEnd] = []
    for label, point in last.items():
        name = short_label(label) + (" (baseline)" if label == view.baseline else "")
        ends.append(LineEnd((point.seq, view.on(point.value)), name, view.looks[label].colour))
    return ends


def _shift(panel: Panel, place: int, count: int) -> float:
    """The factor that shifts a series of a panel with a single length, so that series do not overlap."""
    return 2 ** (0.5 * ((place + 0.5) / count - 0.5)) if len(panel.lengths) == 1 else 1.0


def tick_lengths(axes: Axes, panels: Sequence[Panel], share: float) -> None:
    """Set a tick at every length of all panels; labels have at least a `share` of the axis between them."""
    low, high = axes.get_xlim()
    lengths = sorted({seq for panel in panels for seq in panel.lengths})
    labelled = thin_labels(lengths, (high / low) ** share)
    set_ticks(axes.xaxis, {seq: format_count(seq) if seq in labelled else "" for seq in lengths})


def set_ticks(axis: Axis, names: Mapping[float, str]) -> None:
    """Set only these ticks, with these names."""
    axis.set_ticks([], minor=True)
    axis.set_ticks(list(names), list(names.values()))


def _tick_values(axes: Axes, view: View) -> list[float]:
    """Set the ticks of the vertical axis (none without values); return their places."""
    labels: dict[float, str] = {}
    if any(panel.values for panel in view.chart.panels):
        labels = view.chart.scale.labels(*view.values)
    if view.floor is not None:
        labels = {tick: name for tick, name in labels.items() if tick >= 1.9 * view.floor}
        labels[view.floor] = format_bytes(0)
        axes.axhline(view.floor, color=INK, lw=0.7, ls=(0, (1, 2)))
    set_ticks(axes.yaxis, labels)
    return list(labels)


def draw_grid(axes: Axes, lengths: Sequence[float], values: Sequence[float]) -> None:
    """Draw the grid as one path, because matplotlib's grid takes a third of the file."""
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    upright = [Path([(length, low), (length, high)]) for length in lengths]
    level = [Path([(left, value), (right, value)]) for value in values]
    lines = Path.make_compound_path(*upright, *level)
    axes.add_patch(PathPatch(lines, fill=False, ec=INK, alpha=FAINT, lw=0.5, zorder=0.5))


def draw_limit(axes: Axes, limit: float, name: str) -> None:
    """Draw a limit as a line with its name."""
    axes.axhline(limit, color=WARNING, ls="-.", lw=1.0)
    axes.annotate(
        name,
        (0, limit),
        (2, 2),
        xycoords=axes.get_yaxis_transform(),
        textcoords="offset points",
        va="bottom",
        size=6.5,
        color=WARNING,
    )


def _draw_series(axes: Axes, series: Series, panel: Panel, view: View, shift: float) -> None:
    """Draw a series; `shift` is a factor on its lengths, so that its points do not cover others."""
    look = view.looks[series.label]
    line, width = (LIGHT, 1.0) if series.light else (look.line, look.width)
    for run in stretches(series.points, panel.lengths):
        lengths = [point.seq * shift for point in run]
        axes.plot(lengths, [view.on(p.value) for p in run], color=look.colour, ls=line, lw=width)
        lows = [math.nan if point.low is None else point.low for point in run]
        highs = [math.nan if point.high is None else point.high for point in run]
        if not all(map(math.isnan, lows)):
            axes.vlines(lengths, lows, highs, color=look.colour, lw=1.0)
            axes.fill_between(lengths, lows, highs, color=look.colour, alpha=0.15, lw=0)
    for hollow in {point.hollow: None for point in series.points}:
        points = [point for point in series.points if point.hollow is hollow]
        axes.plot(
            [point.seq * shift for point in points],
            [view.on(point.value) for point in points],
            look.marker,
            color=look.colour,
            mfc="none" if hollow else look.colour,
            mew=1.1,
            ms=2.5 if series.light else 5.0,
            zorder=4,
        )


def draw_outcome_strip(
    axes: Axes, panel: Panel, rows: Sequence[str], looks: Mapping[str, Look], *, named: bool
) -> None:
    """Draw a row per implementation under a panel, with a word for each case without a figure.

    `rows` are labels from the top; `named` writes them at the left, otherwise their markers are there.
    """
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_yticks(range(len(rows)), [short_label(label) if named else "" for label in rows], size=SIZE)
    axes.spines["left"].set_visible(False)
    for row, (label, name) in enumerate(zip(rows, axes.get_yticklabels(), strict=True)):
        colour = looks[label].colour
        name.set_color(colour)
        if not named:
            left = axes.get_yaxis_transform()
            axes.plot(-0.02, row, looks[label].marker, color=colour, ms=4, clip_on=False, transform=left)
        own = sorted((o for o in panel.outcomes if o.label == label), key=lambda o: o.seq)
        for words, same in groupby(own, key=lambda o: o.words):
            for run in stretches(same, panel.lengths):
                left, right = _span(axes, panel.lengths, run[0].seq, run[-1].seq)
                axes.barh(row, right - left, 0.8, left, color=colour, alpha=FAINT)
                middle = math.sqrt(left * right)
                axes.text(middle, row, words, size=SIZE, ha="center", va="center_baseline")


def _span(axes: Axes, lengths: Sequence[int], first: int, last: int) -> tuple[float, float]:
    """The ends of a bar over these lengths: halfway to the lengths before and after them."""
    low, high = axes.get_xlim()
    before = [length for length in lengths if length < first]
    after = [length for length in lengths if length > last]
    left = math.sqrt(before[-1] * first) if before else low
    right = math.sqrt(last * after[0]) if after else high
    return left, right
