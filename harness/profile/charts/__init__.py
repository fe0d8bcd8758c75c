"""Charts of profiles as SVG, each if the records have data for it."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from harness.analysis.suite_results import SuiteResults
from harness.profile.charts.components import components
from harness.profile.charts.roofs import roofline_chart
from harness.profile.stage_times import profiled_series
from harness.report.charts.drawing.page import Sheet, compose_page
from harness.report.charts.drawing.style import style
from harness.report.charts.grid import CaseGrid
from harness.report.charts.image import to_files
from harness.report.charts.model import Captioned
from harness.report.provenance import provenance


def draw_profiles(
    info: Mapping[str, Any], suites: Sequence[SuiteResults], *, png: bool = False
) -> dict[str, bytes]:
    """Draw `components`, and `roofline` with measured ceilings in `info`, of profiled suites."""
    drawn: dict[str, bytes] = {}
    with style():
        for suite in suites:
            drawn.update(to_files(suite.name, profile_figures(suite, info), png=png))
    return drawn


def profile_figures(suite: SuiteResults, info: Mapping[str, Any]) -> dict[str, tuple[Captioned, Figure]]:
    """Charts of a suite's profiles with their figures; call within `style`."""
    series = list(profiled_series(suite.records).values())
    if not series:
        return {}
    sheet = Sheet(None, CaseGrid.of(suite).constants(), provenance(suite.records, info), suite.baseline)
    charts = {"components": components(series), "roofline": roofline_chart(suite, series)}
    return {
        kind: (chart, compose_page(chart, sheet, chart.samples, chart.draw))
        for kind, chart in charts.items()
        if chart is not None
    }
