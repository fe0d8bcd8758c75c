"""The charts of a suite as SVG, as far as its records have figures for them.

Equal records give equal bytes. The package imports matplotlib, so import it only when a chart is needed.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from harness.analysis.results import HOST
from harness.analysis.suite_results import SuiteResults
from harness.core.errors import UsageError
from harness.report.charts.drawing.page import Sheet, draw_page
from harness.report.charts.drawing.style import looks, style
from harness.report.charts.grid import CaseGrid
from harness.report.charts.image import to_files, to_svg
from harness.report.charts.latency import latency
from harness.report.charts.memory import memory
from harness.report.charts.model import AnyChart, PublishedCurve
from harness.report.charts.recall import recall
from harness.report.charts.scaling import scaling
from harness.report.charts.speedup import speedup
from harness.report.charts.static import static
from harness.report.provenance import provenance


def draw_suite(
    suite: SuiteResults,
    info: Mapping[str, Any],
    curves: Sequence[PublishedCurve] = (),
    kinds: Sequence[str] = (),
) -> dict[str, bytes]:
    """The charts of a suite by kind, each as the bytes of an SVG; `info` is the run's run.json.

    `kinds` limits the charts (default: all). Failed cases are drawn by their status. Raises UsageError if
    the suite has no records.
    """
    with style():
        figures = suite_figures(suite, info, curves, kinds)
        return {name: to_svg(chart, figure) for name, (chart, figure) in figures.items()}


def suite_figures(
    suite: SuiteResults,
    info: Mapping[str, Any],
    curves: Sequence[PublishedCurve] = (),
    kinds: Sequence[str] = (),
) -> dict[str, tuple[AnyChart, Figure]]:
    """The charts of a suite and their figures, to be drawn in :func:`style`; `kinds` as above.

    A run that only compiled has no `latency` and `speedup`. A timed run that compiled only for its host has
    no `static`. `scaling` and `recall` exist only if they have a figure.
    """
    grid = CaseGrid.of(suite)
    if not grid.cells:
        raise UsageError(f"suite {suite.name} has no records to draw; run: seqsweep run {suite.name}")
    described = (info.get("suites") or {}).get(suite.name) or {}
    ran = info.get("depth") != "static" or any(cell.timed for cell in grid.cells)
    sheet = Sheet(
        described.get("question"), grid.constants(ran=ran), provenance(suite.records, info), suite.baseline
    )
    other_targets = any(target != HOST for target in suite.compiled_targets)
    charts: dict[str, Callable[[], AnyChart | None]] = {
        "latency": lambda: latency(grid) if ran else None,
        "speedup": lambda: speedup(grid, curves) if ran else None,
        "memory": lambda: memory(grid, info),
        "static": lambda: static(grid, info) if other_targets or not ran else None,
        "scaling": lambda: scaling(grid),
        "recall": lambda: recall(grid),
    }
    styles = looks(grid.labels, suite.baseline)
    return {
        kind: (chart, draw_page(chart, sheet, styles))
        for kind in kinds or charts
        if (chart := charts[kind]())
    }


def draw_run(
    info: Mapping[str, Any],
    suites: Sequence[SuiteResults],
    curves: Sequence[PublishedCurve] = (),
    *,
    png: bool = False,
) -> dict[str, bytes]:
    """The charts of every suite of a run by file name (`mask-latency.svg`), which stays in its folder.

    Published `curves` are drawn for suites with their implementation, baseline and mode. `png` adds a PNG of
    each chart.
    """
    drawn: dict[str, bytes] = {}
    with style():
        for suite in suites:
            charts = suite_figures(suite, info, curves) if suite.records else {}
            drawn.update(to_files(suite.name, charts, png=png))
    return drawn
