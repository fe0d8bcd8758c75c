"""The outcome strip under a panel: a row per implementation, and a word for cases that gave no figure."""

import math
from collections.abc import Mapping, Sequence
from itertools import groupby

from matplotlib.axes import Axes

from harness.report.charts.drawing.style import FAINT, Look
from harness.report.charts.model import Panel, stretches
from harness.report.format import short_label

SIZE = 6.5  # points


def draw_outcome_strip(
    axes: Axes, panel: Panel, rows: Sequence[str], looks: Mapping[str, Look], *, named: bool
) -> None:
    """`rows` are labels from the top; `named` writes them at the left, else their markers stand there."""
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_yticks(range(len(rows)), [short_label(label) if named else "" for label in rows], size=SIZE)
    axes.spines["left"].set_visible(False)
    for row, (label, name) in enumerate(zip(rows, axes.get_yticklabels(), strict=True)):
        colour = looks[label].colour
        name.set_color(colour)
        if not named:
            beside = axes.get_yaxis_transform()
            axes.plot(-0.02, row, looks[label].marker, color=colour, ms=4, clip_on=False, transform=beside)
        own = sorted((o for o in panel.outcomes if o.label == label), key=lambda o: o.seq)
        for words, same in groupby(own, key=lambda o: o.words):
            for run in stretches(same, panel.lengths):
                left, right = _span(axes, panel.lengths, run[0].seq, run[-1].seq)
                axes.barh(row, right - left, 0.8, left, color=colour, alpha=FAINT)
                middle = math.sqrt(left * right)
                axes.text(middle, row, words, size=SIZE, ha="center", va="center_baseline")


def _span(axes: Axes, lengths: Sequence[int], first: int, last: int) -> tuple[float, float]:
    """From the middle between a length and the shorter one to the middle before the longer one."""
    low, high = axes.get_xlim()
    before = [length for length in lengths if length < first]
    after = [length for length in lengths if length > last]
    left = math.sqrt(before[-1] * first) if before else low
    right = math.sqrt(last * after[0]) if after else high
    return left, right
