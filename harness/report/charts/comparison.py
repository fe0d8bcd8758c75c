"""The chart of a comparison: the ratio of the two sides' times, case by case."""

import re
from collections import Counter
from collections.abc import Sequence

from matplotlib.figure import Figure

from harness.analysis.compare_runs import Change, SideBySide
from harness.analysis.stats import SAME_UP_TO
from harness.core.grouped import grouped
from harness.report.charts.drawing.page import Sheet, draw_page
from harness.report.charts.drawing.scales import RATIO
from harness.report.charts.drawing.style import looks, style
from harness.report.charts.grid import panel_titles
from harness.report.charts.image import to_svg
from harness.report.charts.model import Chart, Outcome, Panel, Series, points
from harness.report.charts.notes import interval_notes, shorten
from harness.report.format import short_label
from harness.report.tables.listing import origin

NO_RATIO = "no ratio"
BAND = f"band: up to {SAME_UP_TO:g}× either way; an interval inside it means about the same"


def draw_comparison(sides: SideBySide) -> bytes:
    """A panel for each mode and value of other axes, as the bytes of an SVG."""
    with style():
        return to_svg(*comparison_figure(sides))


def comparison_figure(sides: SideBySide) -> tuple[Chart, Figure]:
    """The chart and its figure, to be drawn in :func:`style`."""
    of, to = short_label(sides.of), short_label(sides.to)
    panels = grouped(sides.changes, lambda change: (change.case.partition("/")[0], change.panel))
    readings = Counter(change.reading for change in sides.changes)
    warnings = Counter(text for c in sides.changes for text in dict.fromkeys(map(_without_share, c.warnings)))
    summary = ", ".join(f"{reading} in {count}" for reading, count in readings.items())
    count = len(sides.changes)
    summary += f" of {count} cases" if len(readings) > 1 else f" case{'s' * (count > 1)}"
    titles = panel_titles(list(panels))
    chart = Chart(
        question=sides.heading,
        finding=f"{of} compared with {to}: {summary}",
        scale=RATIO,
        y_label=f"time, {of} / {to}",
        empty="no ratio (see notes)",
        panels=tuple(_panel(titles[key], changes) for key, changes in panels.items()),
        notes=(
            f"below 1×: {of} is faster",
            BAND,
            *interval_notes(c.ratio for c in sides.changes),
            *_missing_notes(sides.changes),
            *(f"{count} of {len(sides.changes)} points: {shorten(text)}" for text, count in warnings.items()),
            *(f"only in {name}: {len(cases)} cases" for name, cases in sides.only.items() if cases),
            *(f"fingerprints differ in {fact}" for fact in sides.differing),
        ),
        margin=SAME_UP_TO,
    )
    origins = [f"{name} {run.run}, {' · '.join(origin(run))}" for name, run in sides.runs.items()]
    sheet = Sheet(None, "", "; ".join(origins), sides.to)
    return chart, draw_page(chart, sheet, looks(dict.fromkeys(c.of for c in sides.changes), ""))


def _panel(title: str, changes: Sequence[Change]) -> Panel:
    changes = sorted(changes, key=lambda change: change.seq)
    return Panel(
        title=title,
        lengths=tuple(dict.fromkeys(change.seq for change in changes)),
        series=tuple(
            Series(label, points((change.seq, change.ratio) for change in own))
            for label, own in grouped(changes, lambda change: change.of).items()
        ),
        outcomes=tuple(Outcome(c.of, c.seq, NO_RATIO) for c in changes if c.ratio.value is None),
    )


def _without_share(warning: str) -> str:
    """A warning without its percentages, so that all cases that drift share a line."""
    return re.sub(r"\d+ %", "… %", warning)


def _missing_notes(changes: Sequence[Change]) -> list[str]:
    reasons = Counter(c.ratio.reason for c in changes if c.ratio.value is None and c.ratio.reason)
    return [f"no ratio at {count} point{'s' * (count > 1)}: {shorten(why)}" for why, count in reasons.items()]
