"""The charts of a suite as SVG, and which ones its records have something to say for.

Drawn again from the same records they are the same bytes. Imports matplotlib, so it is itself imported only
where a chart is asked for.
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

    Only those among `kinds` are drawn, where any are named. Failed cases are drawn too, by what became of
    them. UsageError when the suite has no record.
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
    """The charts of a suite and their figures, which are to be drawn in :func:`style`; `kinds` as above.

    A run that only compiled has no `latency` and no `speedup`; one that compiled for its host alone on the
    way to times has no `static`. `scaling` and `recall` are there where they have a figure.
    """
    grid = CaseGrid.of(suite)
    if not grid.cells:
        raise UsageError(f"suite {suite.name} has no records to draw; run `seqsweep run {suite.name}` first")
    described = (info.get("suites") or {}).get(suite.name) or {}
    ran = info.get("depth") != "static" or any(cell.timed for cell in grid.cells)
    sheet = Sheet(
        described.get("question"), grid.constants(ran=ran), provenance(suite.records, info), suite.baseline
    )
    abroad = any(target != HOST for target in suite.compiled_targets)
    charts: dict[str, Callable[[], AnyChart | None]] = {
        "latency": lambda: latency(grid) if ran else None,
        "speedup": lambda: speedup(grid, curves) if ran else None,
        "memory": lambda: memory(grid, info),
        "static": lambda: static(grid, info) if abroad or not ran else None,
        "scaling": lambda: scaling(grid),
        "recall": lambda: recall(grid),
    }
    dressed = looks(grid.labels, suite.baseline)
    return {
        kind: (chart, draw_page(chart, sheet, dressed))
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
    """The charts of every suite of a run, by file name: `mask-latency.svg`. No name leads out of a folder.

    Published `curves` are drawn where they are of a suite's implementation, baseline and mode. With `png`
    each chart is also a PNG.
    """
    drawn: dict[str, bytes] = {}
    with style():
        for suite in suites:
            charts = suite_figures(suite, info, curves) if suite.records else {}
            drawn.update(to_files(suite.name, charts, png=png))
    return drawn
