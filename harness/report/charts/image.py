"""A drawn chart as the bytes of an image: SVG, or PNG for pages that cannot show SVG."""

import io
import re
from collections.abc import Mapping

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.text import Text

from harness.core.shown_text import clean_text, file_name
from harness.report.charts.model import Captioned

DOTS = 200  # per inch of a PNG


def to_files(
    suite: str, figures: Mapping[str, tuple[Captioned, Figure]], *, png: bool = False
) -> dict[str, bytes]:
    """The images of a suite's charts by file name (`mask-latency.svg`), with `png` also as PNG."""
    files: dict[str, bytes] = {}
    for kind, (chart, figure) in figures.items():
        name = f"{file_name(suite)}-{kind}"
        files[f"{name}.svg"] = to_svg(chart, figure)
        if png:
            files[f"{name}.png"] = to_png(chart, figure)
    return files


def to_svg(chart: Captioned, figure: Figure) -> bytes:
    """A chart as SVG, without date and version, so that equal records give equal bytes."""
    FigureCanvasSVG(_clean(figure))
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


def to_png(chart: Captioned, figure: Figure) -> bytes:
    """A chart as PNG, with a transparent background like the SVG's."""
    FigureCanvasAgg(_clean(figure))
    buffer = io.BytesIO()
    named = {"Software": None, "Title": clean_text(chart.title)}
    figure.savefig(buffer, format="png", dpi=DOTS, metadata=named)
    return buffer.getvalue()


def _clean(figure: Figure) -> Figure:
    for text in figure.findobj(Text):
        text.set_text(clean_text(text.get_text()))
    return figure


def _shorten(svg: bytes) -> bytes:
    """Drop indentation, and all but two decimals of coordinates: a hundredth of a point is invisible.

    matplotlib names shapes by hashes of full coordinates, whose last bit differs between processors because
    numpy's logarithms depend on the vector units. Here shapes are numbered in order of appearance.
    """
    flat = re.sub(rb"\n\s+", b"\n", svg)
    short = re.sub(rb' (?:d|x|y|transform)="[^"]*"', lambda m: re.sub(rb"(\.\d\d)\d+", rb"\1", m[0]), flat)
    numbers: dict[bytes, bytes] = {}
    return re.sub(
        rb'(?:(?<=id=")|(?<=#))[A-Za-z]+[0-9a-f]{10}\b',
        lambda m: numbers.setdefault(m[0], b"shape%d" % (len(numbers) + 1)),
        short,
    )
