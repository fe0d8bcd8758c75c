"""Components chart: the stages' shares of a call over the length."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import SubFigure
from matplotlib.patches import Patch

from harness.analysis.results import label_of
from harness.core.units import format_count
from harness.profile.stage_times import LARGE_SHARE, RESIDUAL, ProfiledCase
from harness.report.charts.drawing.labels import LineEnd, label_ends
from harness.report.charts.drawing.page import columns_for, panel_grid
from harness.report.charts.drawing.panel import set_ticks, tick_lengths
from harness.report.charts.drawing.scales import length_limits
from harness.report.charts.drawing.style import COLOURS, INK
from harness.report.charts.model import Captioned, Panel
from harness.report.format import short_label

NO_STAGE, SMALLER = "in no stage", "smaller stages"
QUESTION = "Where does the time of a call go as the sequence grows?"

FILL = 0.55  # the opacity of a band


@dataclass(frozen=True)
class BandPanel:
    """The stages of one series: bands of shares, 0 to 1, over the lengths, from the bottom up."""

    title: str
    lengths: tuple[int, ...]
    bands: Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class ComponentsChart(Captioned):
    """A panel per implementation that was profiled at two or more lengths."""

    panels: tuple[BandPanel, ...]

    @property
    def colours(self) -> dict[str, str]:
        """A colour for each stage, the same in all panels; combined rows are grey."""
        names = dict.fromkeys(name for panel in self.panels for name in panel.bands)
        stages = [name for name in names if name not in {NO_STAGE, SMALLER}]
        coloured = {name: COLOURS[place % len(COLOURS)] for place, name in enumerate(stages)}
        return {name: coloured.get(name, INK) for name in names}

    @property
    def samples(self) -> dict[str, Artist]:
        """The legend, if several panels leave no space for names next to bands."""
        if len(self.panels) == 1:
            return {}
        return {name: Patch(color=colour, alpha=FILL) for name, colour in self.colours.items()}

    def draw(self, body: SubFigure) -> float:
        """Draw the panels side by side; a single panel has the band names next to it. Returns the height."""
        titles = [panel.title for panel in self.panels]
        grid, height = panel_grid(body, titles, "sequence length", "share of a call's time", share_x=False)
        for panel, (axes,) in zip(self.panels, grid, strict=True):
            ends = _draw(axes, panel, self.colours)
            tick_lengths(axes, [Panel("", panel.lengths, (), ())], 0.075 * columns_for(len(titles)))
            if len(titles) == 1:
                label_ends(axes, ends)
        return height


def _draw(axes: Axes, panel: BandPanel, colours: Mapping[str, str]) -> list[LineEnd]:
    """Draw the bands, and return the label of each with its last share."""
    axes.set_xscale("log", base=2)
    axes.set_xlim(*length_limits(panel.lengths))
    axes.set_ylim(0, 1)
    set_ticks(axes.yaxis, {share: f"{100 * share:.0f} %" for share in (0, 0.25, 0.5, 0.75, 1)})
    ends: list[LineEnd] = []
    base = [0.0] * len(panel.lengths)
    for name, shares in panel.bands.items():
        top = [low + share for low, share in zip(base, shares, strict=True)]
        axes.fill_between(panel.lengths, base, top, color=colours[name], alpha=FILL, lw=0)
        axes.plot(panel.lengths, top, color=colours[name], lw=0.8)
        at = panel.lengths[-1], (base[-1] + top[-1]) / 2
        ends.append(LineEnd(at, f"{name} {100 * shares[-1]:.1f} %", colours[name]))
        base = top
    return ends


def components(series: Sequence[Sequence[ProfiledCase]]) -> ComponentsChart | None:
    """The chart of these series over their lengths; None if none has two lengths and two stages."""
    drawn = [cases for cases in series if len(cases) > 1 and len(_stages(cases)) > 1]
    if not drawn:
        return None
    panels = tuple(_panel(cases) for cases in drawn)
    is_single = len(panels) == 1
    left_out = [short_label(label_of(cases[0].record)) for cases in series if cases not in drawn]
    return ComponentsChart(
        question=QUESTION,
        finding=_finding(drawn[0]) if is_single else None,
        notes=(
            "medians over rounds of one process, of calls with marks; nested stages are separate",
            *([f"{', '.join(left_out)}: not drawn (only one length or one stage)"] if left_out else []),
        ),
        panels=panels,
    )


def _finding(cases: Sequence[ProfiledCase]) -> str:
    """For example `selected is 48 % of nsa_mslk at 16Ki, 51 % at 4Ki`."""
    largest, name = cases[-1].stages[0], short_label(label_of(cases[0].record))
    first = cases[0].of(largest.stage)
    at = f"{largest.stage} is {_percent(largest.share.value)} of {name} at {format_count(cases[-1].seq)}"
    return at + (f", {_percent(first.share.value)} at {format_count(cases[0].seq)}" if first else "")


def _percent(share: float | None) -> str:
    return f"{100 * (share or 0.0):.0f} %"


def _panel(cases: Sequence[ProfiledCase]) -> BandPanel:
    stages = _stages(cases)
    shares = {stage: [_share(case, stage) for case in cases] for stage in stages}
    large = [stage for stage in stages if max(shares[stage]) >= LARGE_SHARE]
    shown = large[: len(COLOURS)]
    small = [stage for stage in stages if stage not in shown]
    bands = {stage: shares[stage] for stage in shown}
    if small:
        bands[SMALLER] = [sum(at) for at in zip(*(shares[stage] for stage in small), strict=True)]
    bands[NO_STAGE] = [_share(case, RESIDUAL) for case in cases]
    # Medians of shares do not add up to 1 exactly, so they are divided by their sum.
    sums = [math.fsum(entry.share.value or 0.0 for entry in case.stages) or 1.0 for case in cases]
    return BandPanel(
        title=short_label(label_of(cases[0].record)),
        lengths=tuple(case.seq for case in cases),
        bands={
            name: [share / total for share, total in zip(own, sums, strict=True)]
            for name, own in bands.items()
        },
    )


def _stages(cases: Sequence[ProfiledCase]) -> list[str]:
    """The stages of all lengths, in order of their time in the longest call."""
    known = dict.fromkeys(entry.stage for case in reversed(cases) for entry in case.stages)
    return [stage for stage in known if stage != RESIDUAL]


def _share(case: ProfiledCase, stage: str) -> float:
    entry = case.of(stage)
    return 0.0 if entry is None else entry.share.value or 0.0
