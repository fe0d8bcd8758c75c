"""The stages' shares of a call over the sequence length, with the lengths at which two change places."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from matplotlib.artist import Artist
from matplotlib.figure import SubFigure
from matplotlib.patches import Patch

from harness.analysis.results import label_of
from harness.analysis.scaling import near
from harness.core.units import format_count
from harness.profile.stage_times import LARGE_SHARE, RESIDUAL, ProfiledCase
from harness.report.charts.drawing.bands import FILL, Band, BandPanel, draw_bands
from harness.report.charts.drawing.style import COLOURS, INK
from harness.report.charts.model import Captioned
from harness.report.format import short_label

NO_STAGE, SMALLER = "in no stage", "smaller stages"
QUESTION = "Where does the time of a call go as the sequence grows?"


@dataclass(frozen=True)
class ComponentsChart(Captioned):
    """A panel for every implementation that was profiled at two lengths or more."""

    panels: tuple[BandPanel, ...]

    @property
    def colours(self) -> dict[str, str]:
        """A colour for each stage, the same in all panels; what is no single stage is grey."""
        names = dict.fromkeys(band.name for panel in self.panels for band in panel.bands)
        stages = [name for name in names if name not in {NO_STAGE, SMALLER}]
        dressed = {name: COLOURS[place % len(COLOURS)] for place, name in enumerate(stages)}
        return {name: dressed.get(name, INK) for name in names}

    @property
    def samples(self) -> dict[str, Artist]:
        """The legend, where more than one panel leaves no room for names beside bands."""
        if len(self.panels) == 1:
            return {}
        return {name: Patch(color=colour, alpha=FILL) for name, colour in self.colours.items()}

    def draw(self, body: SubFigure) -> float:
        return draw_bands(body, self.panels, self.colours)


def components(series: Sequence[Sequence[ProfiledCase]]) -> ComponentsChart | None:
    """The chart of these series, each by its lengths; None where none has two lengths and two stages."""
    drawn = [cases for cases in series if len(cases) > 1 and len(_stages(cases)) > 1]
    if not drawn:
        return None
    panels = tuple(_panel(cases) for cases in drawn)
    one = len(panels) == 1
    changes = [words if one else f"{p.title}: {words}" for p in panels for _, words in p.changes]
    left_out = [short_label(label_of(cases[0].record)) for cases in series if cases not in drawn]
    return ComponentsChart(
        title=_finding(drawn[0]) if one else QUESTION,
        question=QUESTION,
        notes=(
            "medians over rounds of one process, of calls with marks; a stage inside another stands apart",
            *([f"dotted: {'; '.join(changes)}"] if changes else []),
            *([f"{', '.join(left_out)}: one length or one stage, so no bands"] if left_out else []),
        ),
        panels=panels,
    )


def _finding(cases: Sequence[ProfiledCase]) -> str:
    """`selected is 48 % of nsa_mslk at 16Ki, 51 % at 4Ki`."""
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
    bands = [Band(stage, _whole(cases, shares[stage])) for stage in shown]
    if small:
        bands.append(
            Band(SMALLER, _whole(cases, [sum(at) for at in zip(*(shares[s] for s in small), strict=True)]))
        )
    bands.append(Band(NO_STAGE, _whole(cases, [_share(case, RESIDUAL) for case in cases])))
    return BandPanel(
        title=short_label(label_of(cases[0].record)),
        lengths=tuple(case.seq for case in cases),
        bands=tuple(bands),
        changes=tuple(_changes(cases, shown)),
    )


def _stages(cases: Sequence[ProfiledCase]) -> list[str]:
    """The largest of the longest call first."""
    known = dict.fromkeys(entry.stage for case in reversed(cases) for entry in case.stages)
    return [stage for stage in known if stage != RESIDUAL]


def _share(case: ProfiledCase, stage: str) -> float:
    entry = case.of(stage)
    return 0.0 if entry is None else entry.share.value or 0.0


def _whole(cases: Sequence[ProfiledCase], shares: Sequence[float]) -> tuple[float, ...]:
    """Medians of shares do not add up to 1 exactly; their sum is what fills the panel."""
    sums = [math.fsum(entry.share.value or 0.0 for entry in case.stages) for case in cases]
    return tuple(share / total for share, total in zip(shares, sums, strict=True))


def _changes(cases: Sequence[ProfiledCase], stages: Sequence[str]) -> Iterator[tuple[float, str]]:
    """Where one stage passes another: between two lengths their times are taken to be power laws.

    Only where the intervals of their shares are apart at both lengths.
    """
    for shorter, longer in pairwise(cases):
        for one, other in combinations(stages, 2):
            before, after = (_log_ratio(case, one, other) for case in (shorter, longer))
            apart = _are_apart(shorter, one, other) and _are_apart(longer, one, other)
            if apart and before is not None and after is not None and before * after < 0:
                step = before / (before - after)
                at = shorter.seq * (longer.seq / shorter.seq) ** step
                first, second = (one, other) if after > 0 else (other, one)
                yield at, f"{first} passes {second} at {near(at)}"


def _are_apart(case: ProfiledCase, one: str, other: str) -> bool:
    mine, theirs = case.of(one), case.of(other)
    if mine is None or theirs is None:
        return False
    (_, low, high), (_, their_low, their_high) = mine.share[:3], theirs.share[:3]
    if low is None or high is None or their_low is None or their_high is None:
        return False
    return low > their_high or their_low > high


def _log_ratio(case: ProfiledCase, one: str, other: str) -> float | None:
    mine, theirs = _share(case, one), _share(case, other)
    return math.log(mine / theirs) if mine and theirs else None
