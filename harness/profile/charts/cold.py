"""The steps from a new process to its first result, a bar for every implementation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.artist import Artist
from matplotlib.figure import SubFigure
from matplotlib.patches import Patch

from harness.analysis.results import label_of
from harness.core.grouped import collected
from harness.core.units import format_count, format_seconds
from harness.profile.cold_start import LATER, TO_FIRST, ColdCase
from harness.report.charts.drawing.bars import Bar, draw_bars
from harness.report.charts.drawing.style import COLOURS
from harness.report.charts.model import Captioned
from harness.report.charts.notes import interval_notes
from harness.report.format import short_label

QUESTION = "How long does a new process take to its first result?"


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
        return draw_bars(body, self.bars, self.colours, "from the start of a process")


def cold_chart(cases: Sequence[ColdCase]) -> ColdChart | None:
    """The chart of the cases at the longest length; None where there are none."""
    if not cases:
        return None
    longest = max(case.record.seq for case in cases)
    shown = [case for case in cases if case.record.seq == longest]
    known = [case for case in shown if case.to_first.value]
    title = QUESTION
    if len(known) > 1:
        slow = max(known, key=lambda case: case.to_first.value or 0.0)
        fast = min(known, key=lambda case: case.to_first.value or 0.0)
        title = f"at {format_count(longest)} {_name(fast)} has its first result after {_seconds(fast)}, "
        title += f"{_name(slow)} after {_seconds(slow)}"
    return ColdChart(
        title=title,
        question=QUESTION,
        notes=(*interval_notes((c.to_first for c in shown), "lines at the ends"), *_missing(shown)),
        bars=tuple(_bar(case) for case in shown),
    )


def _missing(cases: Sequence[ColdCase]) -> list[str]:
    """Why a step has no time, of all that have it for this reason."""
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
