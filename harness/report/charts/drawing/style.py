"""The style of charts: text, and colours for colour-blind readers on light and dark backgrounds."""

import re
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl

# Text and lines have a contrast of 3, as WCAG 2.1 (1.4.11) requires for graphics, both with white and with
# #0d1117, a browser's dark page, because charts have no background. Only colours of medium lightness do.
INK = "#777777"
WARNING = "#cf3a4a"
# After Okabe and Ito (https://jfly.uni-koeln.de/color/), without their light and dark ends.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#c06090", "#a87a00", "#7a6ad8")
FAINT = 0.25  # opacity of grid and bars

POINTS = 72  # per inch
BODY = 8.5  # points
# Inches. All pages have one width, so that their text has one size when they are scaled to a column.
WIDTH = 8.0
ROOM = 0.94 * WIDTH  # for text
# The width of a character over the font's size. DejaVu Sans has 0.52 on average and 0.58 in bold, and more
# in lists of fields (`=` and `·` are wide). The rest, 15 %, is a margin for wider fonts of readers.
EM = {"normal": 0.64, "bold": 0.7}

_MARKERS = ("o", "^", "D", "v", "p", "<", "h")  # seven markers and six colours: 42 different pairs

# The user's matplotlibrc must not change a chart, so everything starts from the defaults. Text stays text in
# the reader's font. DejaVu Sans comes with matplotlib and is as wide as its usual substitutes.
_STYLE: dict[Any, Any] = {
    "font.family": ["sans-serif"],
    "font.sans-serif": ["DejaVu Sans", "Verdana", "sans-serif"],
    "svg.fonttype": "none",
    "text.parse_math": False,
    "text.color": INK,
    "axes.facecolor": "none",
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.7,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.facecolor": "none",
    "legend.frameon": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": 7.5,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "ytick.labelsize": 7.5,
    "savefig.facecolor": "none",
}


def style() -> Any:
    """The context in which charts are drawn and written."""
    defaults: dict[Any, Any] = {
        name: value for name, value in mpl.rcParamsDefault.items() if not name.startswith("backend")
    }
    return mpl.rc_context({**defaults, **_STYLE})


@dataclass(frozen=True)
class Look:
    """One implementation's colour, marker and line, equal in every chart of its suite."""

    colour: str
    marker: str
    line: str = "-"
    width: float = 1.5


BASELINE = Look(INK, "s", "--", 1.3)


def looks(labels: Iterable[str], baseline: str) -> Mapping[str, Look]:
    """Label → look, also for labels without data, so that a failed implementation has a fixed colour."""
    by_label = {baseline: BASELINE} if baseline else {}
    others = [label for label in labels if label != baseline]
    for place, label in enumerate(others):
        by_label[label] = Look(
            COLOURS[place % len(COLOURS)],
            _MARKERS[place % len(_MARKERS)],
            "-" if place < len(COLOURS) else "-.",
        )
    return by_label


class _Wrapper(textwrap.TextWrapper):
    """A wrapper that also breaks between options, before it breaks a word: `name[one=1,` above `two=2]`."""

    wordsep_simple_re = re.compile(r"(\s+)|(?<=,)(?=\w)|(?<=\w)(?=\[)")


def wrap(text: str, inches: float, size: float, weight: str = "normal") -> str:
    """The text in lines of at most this many inches in any usual font."""
    characters = int(inches * POINTS / (size * EM[weight]))
    return _Wrapper(characters, break_on_hyphens=False).fill(text)
