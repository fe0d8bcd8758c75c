"""What a chart shows, before anything is drawn: points, marks and sentences."""

from collections.abc import Iterable
from dataclasses import dataclass

# Symbols of marks that are not the status of a case.
CROSSOVER = "crossover"
FIRST_WIN = "first_win"
NO_RATIO = "no_ratio"
NO_FIGURE = "no_figure"
NOT_TIMED = "not_timed"
DOES_NOT_FIT = "does_not_fit"
HOLLOW = "hollow"
LIGHT = "light"
LIMIT = "limit"
OVERFLOW = "overflow"
DEVICE = "device"


@dataclass(frozen=True)
class Point:
    """A value at a length with its 95 % interval; `hollow` where the case gave no timing."""

    seq: int
    value: float
    low: float | None = None
    high: float | None = None
    hollow: bool = False


@dataclass(frozen=True)
class Series:
    """One implementation's points, shortest first. `light` is a second figure of the same one."""

    label: str
    points: tuple[Point, ...]
    light: bool = False


@dataclass(frozen=True)
class Mark:
    """A symbol in the strip under a panel, in its implementation's row.

    `texts` are wordings of the small print beneath it, longest first: the first one that fits
    between its neighbours is written.
    """

    label: str
    seq: float
    symbol: str
    texts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Panel:
    """One mode and one value of every other swept axis; `lengths` is its grid.

    The words on the limit's line are at its `right` or, where figures reach it at the longest length, `left`.
    """

    title: str
    lengths: tuple[int, ...]
    series: tuple[Series, ...]
    marks: tuple[Mark, ...]
    limit: float | None = None
    limit_named: str = "right"

    @property
    def values(self) -> list[float]:
        """Everything that the vertical axis must reach."""
        points = [point for series in self.series for point in series.points]
        reach = [(point.value, point.low, point.high) for point in points]
        known = [number for numbers in reach for number in numbers if number is not None]
        return known + ([self.limit] if self.limit is not None else [])


@dataclass(frozen=True)
class Key:
    """A line of the legend that is not an implementation: a symbol and what it says."""

    symbol: str
    text: str


@dataclass(frozen=True)
class Chart:
    """`scale` is `time`, `ratio` or `bytes`; `empty` is the text of a panel without any point."""

    title: str
    scale: str
    y_label: str
    empty: str
    panels: tuple[Panel, ...]
    keys: tuple[Key, ...]
    notes: tuple[str, ...]

    def rows(self, labels: Iterable[str]) -> list[str]:
        """The rows of the strip, alike in all panels: implementations that some panel marks."""
        marked = {mark.label for panel in self.panels for mark in panel.marks}
        return [label for label in labels if label in marked]


def stretches(points: Iterable[Point], lengths: tuple[int, ...]) -> list[list[Point]]:
    """Points split where a length of the grid has none, so that no line bridges a failed case."""
    runs: list[list[Point]] = []
    last = -2
    for point in points:
        at = lengths.index(point.seq)
        if at == last + 1:
            runs[-1].append(point)
        else:
            runs.append([point])
        last = at
    return runs
