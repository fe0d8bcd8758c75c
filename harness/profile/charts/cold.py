"""The chart of cold starts: the steps from a new process to its first result, a bar per implementation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import SubFigure
from matplotlib.patches import Patch

from harness.analysis.results import label_of
from harness.core.grouped import collected
from harness.core.units import format_count, format_seconds
from harness.profile.cold_start import LATER, REQUIRED, TO_FIRST, ColdCase
from harness.report.charts.drawing.scales import linear_ticks
from harness.report.charts.drawing.style import BODY, COLOURS, FAINT, INK
from harness.report.charts.model import Captioned
from harness.report.charts.notes import interval_notes
from harness.report.format import short_label, trim_zeros

QUESTION = "How long does a new process take to its first result?"
HEIGHT = 0.32  # inches of a row
AXES = 0.8  # inches of the axis below them
SIZE = 7.5  # points
ROOM = 1.6  # times the longest bar, for the words behind it


@dataclass(frozen=True)
class Bar:
    """A row: its steps in seconds, the interval of them all, and words behind it."""

    name: str
    parts: Mapping[str, float]
    low: float | None
    high: float | None
    words: str


@dataclass(frozen=True)
class ColdChart(Captioned):
    """A bar for each case at the longest length, split into its steps."""

    bars: tuple[Bar, ...]

    @property
    def colours(self) -> dict[str, str]:
        """A colour for each step that some case has, in the order in which they happen."""
        known = [step for step in TO_FIRST if any(step in bar.parts for bar in self.bars)]
        return {step: COLOURS[place % len(COLOURS)] for place, step in enumerate(known)}

    @property
    def samples(self) -> dict[str, Artist]:
        return {step: Patch(color=colour) for step, colour in self.colours.items()}

    def draw(self, body: SubFigure) -> float:
        """The rows, the first on top; their height in inches."""
        axes = body.subplots(1, 1)
        ends = [max(sum(bar.parts.values()), bar.high or 0.0) for bar in self.bars]
        axes.set_xlim(0, ROOM * max(ends))
        axes.set_ylim(len(self.bars) - 0.5, -0.5)
        axes.set_yticks(range(len(self.bars)), [bar.name for bar in self.bars], size=SIZE)
        ticks = linear_ticks(0, max(ends))
        axes.set_xticks(ticks, [trim_zeros(format_seconds(tick)) for tick in ticks])
        axes.grid(visible=True, axis="x", color=INK, alpha=FAINT, lw=0.5)
        axes.set_axisbelow(True)
        axes.set_xlabel("from the start of a process", size=BODY)
        for row, (bar, end) in enumerate(zip(self.bars, ends, strict=True)):
            _draw(axes, row, bar, end, self.colours)
        return HEIGHT * len(self.bars) + AXES


def _draw(axes: Axes, row: int, bar: Bar, end: float, colours: Mapping[str, str]) -> None:
    start = 0.0
    for part, seconds in bar.parts.items():
        axes.barh(row, seconds, 0.65, start, color=colours[part])
        start += seconds
    if bar.low is not None and bar.high is not None:
        axes.hlines(row, bar.low, bar.high, color=INK, lw=1.2)
    axes.annotate(bar.words, (end, row), (4, 0), textcoords="offset points", va="center", size=SIZE)


def cold_chart(cases: Sequence[ColdCase]) -> ColdChart | None:
    """The chart of the cases at the longest length; None where there are none."""
    if not cases:
        return None
    longest = max(case.record.seq for case in cases)
    shown = [case for case in cases if case.record.seq == longest]
    known = [case for case in shown if case.to_first.value]
    finding = None
    if len(known) > 1:
        slow = max(known, key=lambda case: case.to_first.value or 0.0)
        fast = min(known, key=lambda case: case.to_first.value or 0.0)
        finding = f"at {format_count(longest)} {_name(fast)} has its first result after {_seconds(fast)}, "
        finding += f"{_name(slow)} after {_seconds(slow)}"
    return ColdChart(
        question=QUESTION,
        finding=finding,
        notes=(
            *interval_notes((c.to_first for c in shown), "lines at the ends", REQUIRED),
            *_missing_notes(shown),
        ),
        bars=tuple(_bar(case) for case in shown),
    )


def _missing_notes(cases: Sequence[ColdCase]) -> list[str]:
    """Notes on steps without a time; cases with the same reason share one."""
    names = collected((missing, _name(case)) for case in cases for missing in case.missing.items())
    return [f"{', '.join(known)}, no {step}: {why}" for (step, why), known in names.items()]


def _bar(case: ColdCase) -> Bar:
    parts = {step: case.steps[step].value or 0.0 for step in TO_FIRST if step in case.steps}
    later = case.steps.get(LATER)
    words = [f"then {format_seconds(later.value, 2)} a call"] if later is not None and later.value else []
    words += [f"pays back at call {case.pays_back}"] if case.pays_back else []
    return Bar(_name(case), parts, case.to_first.low, case.to_first.high, ", ".join(words))


def _name(case: ColdCase) -> str:
    return short_label(label_of(case.record))


def _seconds(case: ColdCase) -> str:
    return format_seconds(case.to_first.value or 0.0, 2)
