"""Drawing the bytes alive over a program: bands of single buffers below all others, and the peak."""

from matplotlib.axes import Axes
from matplotlib.figure import SubFigure
from matplotlib.ticker import MaxNLocator

from harness.report.charts.drawing.panel import set_ticks
from harness.report.charts.drawing.style import BODY, COLOURS, FAINT, INK, wrap
from harness.report.charts.model import LiveChart, LivePanel
from harness.report.format import short_bytes

HEIGHT = 1.7  # inches of a panel with its axis
NAME = 2.6  # inches that a band's name may take
PEAK = 2.3  # inches that the words of the peak may take, half a panel at most
HEADROOM = 1.45  # of the peak: three lines of words above it
SIZE = 6.5  # points
OTHERS = "all other buffers"


def draw_live(body: SubFigure, chart: LiveChart) -> float:
    """The panels below each other, with the names of their bands beside them; their height in inches."""
    grid = body.subplots(len(chart.panels), 1, squeeze=False)
    for axes, panel in zip(grid[:, 0], chart.panels, strict=True):
        _draw_panel(axes, panel)
    grid[-1, 0].set_xlabel("instruction, as scheduled", size=BODY)
    return HEIGHT * len(chart.panels) + 0.4


def _draw_panel(axes: Axes, panel: LivePanel) -> None:
    axes.set_title(panel.title, loc="left", size=BODY, weight="bold")
    steps, layers = panel.layers()
    names = [wrap(band.name, NAME, SIZE) for band in panel.bands] + [OTHERS]
    colours = [*COLOURS[: len(panel.bands)], INK]
    areas = axes.stackplot(steps, *layers, step="post", labels=names, colors=colours, lw=0)
    areas[-1].set_alpha(FAINT)
    top = max(map(sum, zip(*layers, strict=True)))
    axes.set_xlim(0, panel.steps)
    axes.set_ylim(0, HEADROOM * top)
    step = 1 << max(0, top.bit_length() - 2)  # two to four ticks, at whole powers of two
    set_ticks(axes.yaxis, {size: short_bytes(size) for size in range(0, top + 1, step)})
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    axes.tick_params(labelsize=SIZE)
    at, words = panel.peak
    axes.axvline(at, color=INK, lw=0.8, ls=":")
    right = at > panel.steps / 2
    axes.annotate(
        wrap(words, PEAK, SIZE),
        (at, HEADROOM * top),
        (-3 if right else 3, -3),
        textcoords="offset points",
        ha="right" if right else "left",
        va="top",
        size=SIZE,
    )
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(
        handles[::-1],
        labels[::-1],
        loc="upper left",
        bbox_to_anchor=(1.0, 1.05),
        fontsize=SIZE,
        frameon=False,
    )
