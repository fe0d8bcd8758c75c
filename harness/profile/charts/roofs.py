"""Roofline chart: cases and stages under the measured ceilings, by FLOPs per byte."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import SubFigure
from matplotlib.lines import Line2D

from harness.analysis.results import label_of
from harness.analysis.roofline import WIDTHS, Roofline
from harness.analysis.stats import Estimate
from harness.analysis.suite_results import SuiteResults
from harness.core.grouped import grouped
from harness.core.record import COUNTED_MODE, Record
from harness.core.units import format_count
from harness.profile.report import roof_shares
from harness.profile.stage_times import RESIDUAL, ProfiledCase
from harness.report import format as fmt
from harness.report.charts.drawing.labels import spread
from harness.report.charts.drawing.page import line_sample, panel_grid
from harness.report.charts.drawing.panel import set_ticks
from harness.report.charts.drawing.scales import decimal_ticks
from harness.report.charts.drawing.style import FAINT, INK, Look, looks
from harness.report.charts.model import Captioned
from harness.report.format import short_label

QUESTION = "How close is a call to the measured ceilings of this machine?"
CALLS = "whole calls"
SIZE = 6.5  # points
LINE = 0.075  # height of a roof's label over that of the panel
LineStyle = str | tuple[int, tuple[float, ...]]
RISING: tuple[LineStyle, ...] = ("-", (0, (6.0, 1.5)), (0, (4.0, 1.5, 1.0, 1.5)), (0, (2.0, 1.0)))
FLOPS, BYTES = "FLOP/s", "B/s"
Limits = tuple[tuple[float, float], tuple[float, float]]


@dataclass(frozen=True)
class Roof:
    """A ceiling: level for FLOP/s, rising with the intensity for bytes/s."""

    name: str
    value: float
    unit: str  # FLOPS or BYTES
    line: LineStyle = "-"

    @property
    def label(self) -> str:
        rate = fmt.trim_zeros(fmt.per_second(self.value, None, None, self.unit)[0])
        return f"{self.name} {rate}"


@dataclass(frozen=True)
class RoofPoint:
    """A case or stage: FLOPs per byte, and FLOPs per second with interval."""

    label: str
    intensity: float
    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class RoofPanel:
    """Points of one kind under the roofs; a line connects points with the same label."""

    title: str
    roofs: tuple[Roof, ...]
    points: tuple[RoofPoint, ...]


@dataclass(frozen=True)
class RooflineChart(Captioned):
    """A panel of whole calls, and a panel of stages for each profiled series at its longest length."""

    panels: tuple[RoofPanel, ...]
    looks: Mapping[str, Look]

    @property
    def samples(self) -> dict[str, Artist]:
        """The legend of the points and of the rising roofs, which are too close for labels."""
        rising = [roof for roof in self.roofs if roof.unit == BYTES]
        return {
            **{name: line_sample(look) for name, look in self.looks.items()},
            **{roof.label: Line2D([], [], color=INK, lw=1.1, ls=roof.line) for roof in rising},
        }

    @property
    def roofs(self) -> tuple[Roof, ...]:
        return self.panels[0].roofs

    def draw(self, body: SubFigure) -> float:
        """Draw the panels side by side with equal limits, and return their height in inches."""
        titles = [panel.title for panel in self.panels]
        grid, height = panel_grid(body, titles, "FLOPs per byte", "FLOPs per second")
        limits = _limits(self.panels)
        for panel, (axes,) in zip(self.panels, grid, strict=True):
            _set_scales(axes, limits)
            _draw_roofs(axes, panel.roofs, limits)
            _draw_points(axes, panel.points, self.looks)
        return height


def roofline_chart(suite: SuiteResults, series: Sequence[Sequence[ProfiledCase]]) -> RooflineChart | None:
    """The chart of a suite and its profiled series; None without machine ceilings or FLOPs."""
    records = [records[0] for records in suite.by_case.values()]
    machine = next((r.fingerprint for r in records if r.fingerprint in suite.rooflines), None)
    if machine is None:
        return None
    dtypes = {str(record.workload.get("dtype")) for record in records}
    roofs = tuple(_roofs(suite.rooflines[machine], dtypes))
    calls = [record for record in records if record.fingerprint == machine and record.mode == COUNTED_MODE]
    longest = [cases[-1] for cases in series if cases[-1].record.fingerprint == machine]
    drawn = [RoofPanel(CALLS, roofs, tuple(_call_points(suite, calls)))]
    for case in (case for case in longest if len(case.stages) > 2):  # a single stage is the whole call
        name = f"stages of {short_label(label_of(case.record))} at {format_count(case.seq)}"
        drawn.append(RoofPanel(name, roofs, tuple(_stage_points(case))))
    panels = tuple(panel for panel in drawn if panel.points)
    if not panels:
        return None
    labels = dict.fromkeys(point.label for panel in panels for point in panel.points)
    return RooflineChart(
        question=QUESTION,
        finding=_finding(suite, longest),
        notes=tuple(_notes(suite, longest)),
        panels=panels,
        looks=looks(labels, ""),
    )


def _roofs(roofline: Roofline, dtypes: set[str]) -> Iterator[Roof]:
    """The roofs to draw: dtypes at least as wide as the narrowest used dtype, or all if there are none.

    Memory levels with equal rates share a line.
    """
    narrowest = min((WIDTHS.get(dtype, 0) for dtype in dtypes), default=0)
    able = {kind: c for kind, c in roofline.compute.items() if WIDTHS.get(kind, 0) >= narrowest}
    for kind, ceiling in (able or roofline.compute).items():
        yield Roof(kind, ceiling.rate, FLOPS)
    levels = grouped(roofline.levels, lambda name: roofline.levels[name].rate)
    for line, (rate, names) in zip(RISING, reversed(levels.items()), strict=False):
        yield Roof(", ".join(names), rate, BYTES, line)


def _call_points(suite: SuiteResults, records: Sequence[Record]) -> Iterator[RoofPoint]:
    """The points of whole calls by label, shortest length first."""
    order = {label: place for place, label in enumerate(suite.implementations)}
    for record in sorted(records, key=lambda r: (order.get(label_of(r), len(order)), r.seq)):
        cost = record.cost
        yield from _point(short_label(label_of(record)), cost.flops, cost.bytes, suite.times[record.case])


def _stage_points(case: ProfiledCase) -> Iterator[RoofPoint]:
    for entry in case.stages:
        if entry.stage != RESIDUAL:
            yield from _point(entry.stage, entry.figures.flops, entry.figures.bytes, entry.busy)


def _point(label: str, flops: float | None, moved: float | None, time: Estimate) -> Iterator[RoofPoint]:
    if flops and moved and time.value:
        low, high = (flops / at if at else None for at in (time.high, time.low))
        yield RoofPoint(label, flops / moved, flops / time.value, low, high)


def _finding(suite: SuiteResults, longest: Sequence[ProfiledCase]) -> str | None:
    """For example `at 16Ki: dense 89 % of compute, nsa_mslk 43 % of compute`."""
    seq = max((case.seq for case in longest), default=0)
    shares = {
        short_label(label_of(records[0])): suite.roofs[case]
        for case, records in suite.by_case.items()
        if records[0].seq == seq
    }
    known = [f"{name} {fmt.roof(share)}" for name, share in shares.items() if share.share.value is not None]
    return f"at {format_count(seq)}: {', '.join(known)}" if known else None


def _notes(suite: SuiteResults, longest: Sequence[ProfiledCase]) -> Iterator[str]:
    yield "lines: measured rates of torch's matrix products and memory streams on this machine"
    yield "whole calls: the family's formulas for FLOPs and bytes; lines connect the lengths of a case"
    yield "stages: FLOPs of matrix products, bytes of all operands, in cache or not"
    yield "bars: 95 % intervals over rounds within one process"
    shares = {share.note: None for share in suite.roofs.values()}
    for case in longest:
        shares.update({s.note: None for s in roof_shares(case, suite.rooflines).values()})
        without = [e.stage for e in case.stages if e.stage != RESIDUAL and not e.figures.flops]
        if without:
            yield f"{short_label(label_of(case.record))}: no point without FLOPs for {', '.join(without)}"
    yield from filter(None, shares)


def _limits(panels: Sequence[RoofPanel]) -> Limits:
    """Axis limits around all points with their intervals, the highest roof, and roof intersections."""
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
    for axis, (low, high), text in (
        (axes.xaxis, limits[0], lambda tick: f"{tick:g}"),
        (axes.yaxis, limits[1], lambda tick: fmt.trim_zeros(fmt.per_second(tick, tick, tick, "")[0])),
    ):
        set_ticks(axis, {tick: text(tick).strip() for tick in decimal_ticks(low, high)})
    axes.grid(visible=True, color=INK, alpha=FAINT, lw=0.5)


def _draw_roofs(axes: Axes, roofs: Sequence[Roof], limits: Limits) -> None:
    """Draw each roof where it limits: rising ones up to the highest level, level ones after that."""
    (left, right), (low, high) = limits
    level = max(roof.value for roof in roofs if roof.unit == FLOPS)
    steepest = max((roof.value for roof in roofs if roof.unit == BYTES), default=math.inf)
    for roof in roofs:
        ends = (roof.value / steepest, right) if roof.unit == FLOPS else (left, level / roof.value)
        values = [roof.value * (1.0 if roof.unit == FLOPS else end) for end in ends]
        axes.plot(ends, values, color=INK, lw=1.1, ls=roof.line, zorder=2)
    level_roofs = [roof for roof in roofs if roof.unit == FLOPS]
    heights = [math.log(roof.value / low) / math.log(high / low) + LINE / 2 for roof in level_roofs]
    for roof, height in zip(level_roofs, spread(heights, [LINE] * len(heights)), strict=True):
        axes.text(0.99, height, roof.label, size=SIZE, ha="right", va="center", transform=axes.transAxes)


def _draw_points(axes: Axes, points: Sequence[RoofPoint], looks: Mapping[str, Look]) -> None:
    for label, own in grouped(points, lambda point: point.label).items():
        look = looks[label]
        across, up = [point.intensity for point in own], [point.value for point in own]
        axes.plot(across, up, color=look.colour, lw=0.8, ls=look.line, marker=look.marker, ms=5, zorder=4)
        bounded = [(p.intensity, p.low, p.high) for p in own if p.low is not None and p.high is not None]
        if bounded:
            axes.vlines(*zip(*bounded, strict=True), color=look.colour, lw=1.2, zorder=3)
