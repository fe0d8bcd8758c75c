"""The charts of a suite: which ones its records have something to say for."""

import io
import re
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.text import Text

from harness.analysis.published_curve import PublishedCurve
from harness.analysis.results import HOST
from harness.analysis.suite_results import SuiteResults, results_of
from harness.core.errors import UsageError
from harness.core.record import Record
from harness.core.shown_text import clean_line, clean_text
from harness.report.charts.drawing.page import Sheet, draw_page
from harness.report.charts.drawing.style import looks, style
from harness.report.charts.grid import CaseGrid
from harness.report.charts.latency import latency
from harness.report.charts.memory import memory
from harness.report.charts.model import Chart
from harness.report.charts.provenance import provenance
from harness.report.charts.speedup import speedup
from harness.report.charts.static import static


def draw_suite(
    suite: SuiteResults, info: Mapping[str, Any], curves: Sequence[PublishedCurve] = ()
) -> dict[str, bytes]:
    """`latency`, `speedup`, `memory` and `static`, each as the bytes of an SVG; `info` is the run's run.json.

    UsageError when the suite has no record. Cases that failed, and suites in which all did, are drawn like
    others: by what became of them.
    """
    with style():
        return {
            name: _svg(chart, figure) for name, (chart, figure) in figures_of(suite, info, curves).items()
        }


def figures_of(
    suite: SuiteResults, info: Mapping[str, Any], curves: Sequence[PublishedCurve] = ()
) -> dict[str, tuple[Chart, Figure]]:
    """The charts of a suite and their figures, which are to be drawn in :func:`style`.

    A run that only compiled has no latency and no speedup; one that compiled for its host alone on the
    way to times has no `static`.
    """
    grid = CaseGrid.of(suite)
    if not grid.cells:
        raise UsageError(f"suite {suite.name} has no records to draw; run `seqsweep run {suite.name}` first")
    described = (info.get("suites") or {}).get(suite.name) or {}
    ran = info.get("depth") != "static" or any(cell.timed for cell in grid.cells)
    sheet = Sheet(
        described.get("question"), grid.constants(ran=ran), provenance(suite.records, info), suite.baseline
    )
    charts = {"latency": latency(grid), "speedup": speedup(grid, curves)} if ran else {}
    charts["memory"] = memory(grid, info)
    if not ran or any(target != HOST for target in suite.compiled_targets):
        charts["static"] = static(grid, info)
    dressed = looks(grid.labels, suite.baseline)
    return {name: (chart, draw_page(chart, sheet, dressed)) for name, chart in charts.items()}


def draw_run(
    info: Mapping[str, Any], records: Sequence[Record], curves: Sequence[PublishedCurve] = ()
) -> dict[str, bytes]:
    """The charts of every suite of a run, by file name: `mask-latency.svg`. No name leads out of a folder.

    Published `curves` are drawn where they are of a suite's implementation, baseline and mode.
    """
    return {
        f"{clean_line(suite.name).replace('/', '-')}-{kind}.svg": data
        for suite in results_of(info, records)
        if suite.records
        for kind, data in draw_suite(suite, info, curves).items()
    }


def _svg(chart: Chart, figure: Figure) -> bytes:
    """No date and no version in it: both would differ between two drawings of the same records."""
    FigureCanvasSVG(figure)
    for text in figure.findobj(Text):
        text.set_text(clean_text(text.get_text()))
    buffer = io.BytesIO()
    figure.savefig(
        buffer,
        format="svg",
        metadata={
            "Date": None,
            "Creator": "seqsweep",
            "Title": clean_text(chart.title),
            "Description": clean_text("\n".join(chart.notes)),
        },
    )
    return _shorten(buffer.getvalue())


def _shorten(svg: bytes) -> bytes:
    """Without indentation, and with two decimals of a coordinate: a hundredth of a point is not seen."""
    flat = re.sub(rb"\n\s+", b"\n", svg)
    return re.sub(rb' (?:d|x|y|transform)="[^"]*"', lambda m: re.sub(rb"(\.\d\d)\d+", rb"\1", m[0]), flat)
