"""How things look: colours that stay apart for colour-blind readers, a marker for each, symbols."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
from matplotlib.path import Path

from harness.report.charts.drawing.text import FONT
from harness.report.charts.model import (
    CROSSOVER,
    DOES_NOT_FIT,
    FIRST_WIN,
    HOLLOW,
    NO_FIGURE,
    NO_RATIO,
    NOT_TIMED,
    OVERFLOW,
)

INK = "#222222"
SOFT = "#6b6b6b"
GRID = "#e3e3e3"
PAPER = "#f6f6f6"
WARNING = "#a3132b"

# Okabe and Ito's colours (https://jfly.uni-koeln.de/color/) without yellow, too faint on white, and
# black, which is the baseline's.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_MARKERS = ("o", "^", "D", "v", "p", "<", "h")  # seven beside six colours: 42 pairs before one recurs

# The reader's own matplotlibrc must not change a chart, so everything starts from the defaults.
_STYLE: dict[Any, Any] = {
    "font.family": [FONT],
    "svg.fonttype": "path",
    "svg.hashsalt": "seqsweep",
    "text.parse_math": False,
    "axes.edgecolor": SOFT,
    "axes.linewidth": 0.7,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "path.simplify": False,
}


def style() -> Any:
    """The context in which charts are drawn and written."""
    defaults: dict[Any, Any] = {
        name: value for name, value in mpl.rcParamsDefault.items() if not name.startswith("backend")
    }
    return mpl.rc_context({**defaults, **_STYLE})


@dataclass(frozen=True)
class Look:
    """One implementation's colour, marker and line, the same in every chart of its suite."""

    colour: str
    marker: str
    line: str = "-"
    width: float = 1.5


def looks(labels: Iterable[str], baseline: str) -> Mapping[str, Look]:
    """Label → look. Labels without data count too, so that a failed implementation keeps its colour."""
    by_label = {baseline: Look(INK, "s", "--", 1.3)} if baseline else {}
    others = [label for label in labels if label != baseline]
    for place, label in enumerate(others):
        by_label[label] = Look(
            _COLOURS[place % len(_COLOURS)],
            _MARKERS[place % len(_MARKERS)],
            "-" if place < len(_COLOURS) else "-.",
        )
    return by_label


@dataclass(frozen=True)
class Symbol:
    """A marker of the strip or the legend; a path is drawn inside the square from −1 to 1."""

    marker: str | Path
    filled: bool = True
    size: float = 6.0


def _strokes(*lines: tuple[tuple[float, float], ...]) -> Path:
    return Path.make_compound_path(*(Path(line) for line in lines))


_HOURGLASS = Path([(-0.8, 1), (0.8, 1), (-0.8, -1), (0.8, -1), (-0.8, 1)], closed=True)
_BOLT = Path(
    [(0.3, 1), (-0.7, -0.15), (-0.05, -0.15), (-0.3, -1), (0.7, 0.2), (0.05, 0.2), (0.3, 1)], closed=True
)
_UNEQUAL = _strokes(((-1, 0.35), (1, 0.35)), ((-1, -0.35), (1, -0.35)), ((-0.45, -1), (0.45, 1)))
_CHEVRONS = _strokes(((-0.9, 0.8), (-0.1, 0), (-0.9, -0.8)), ((0.1, 0.8), (0.9, 0), (0.1, -0.8)))
_REFUSED = Path.make_compound_path(Path.unit_circle(), Path([(-0.7, -0.7), (0.7, 0.7)]))

SYMBOLS: Mapping[str, Symbol] = {
    "oom": Symbol("X", size=6.5),
    "timeout": Symbol(_HOURGLASS),
    "crashed": Symbol(_BOLT, size=7),
    "incorrect": Symbol(_UNEQUAL, filled=False),
    "unsupported": Symbol(_REFUSED, filled=False),
    "skipped": Symbol(_CHEVRONS, filled=False, size=5.5),
    NOT_TIMED: Symbol("o", filled=False, size=4.5),
    NO_RATIO: Symbol(_strokes(((-1, 0), (1, 0))), filled=False, size=5),
    NO_FIGURE: Symbol(_strokes(((-1, 0), (1, 0))), filled=False, size=5),
    DOES_NOT_FIT: Symbol("X", filled=False, size=6.5),
    CROSSOVER: Symbol("|", filled=False, size=8),
    FIRST_WIN: Symbol("o"),
    HOLLOW: Symbol("o", filled=False),
    OVERFLOW: Symbol("o", filled=False),
}


def symbol_style(symbol: Symbol, colour: str) -> dict[str, Any]:
    """What `plot` needs to draw it."""
    return {
        "marker": symbol.marker,
        "markersize": symbol.size,
        "markerfacecolor": colour if symbol.filled else "none",
        "markeredgecolor": colour,
        "markeredgewidth": 0.4 if symbol.filled else 1.1,
        "linestyle": "none",
        "clip_on": False,
    }
