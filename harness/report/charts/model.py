"""Charts as data, before drawing: points, outcomes and sentences."""

import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import TypeVar

from harness.analysis.stats import Estimate
from harness.core.paths import PROJECT
from harness.report.charts.drawing.scales import Scale


@dataclass(frozen=True)
class PublishedCurve:
    """Speedups over length that a document published, for its hardware and shapes."""

    implementation: str  # `family/name`
    baseline: str  # `family/name`
    mode: str  # fwd, bwd or fwd_bwd
    source: str  # the document and its hardware: `MSLK #296, GB200`
    points: tuple[tuple[int, float], ...]  # (length, the baseline's time over the implementation's)


@dataclass(frozen=True, kw_only=True)
class Captioned:
    """The texts around a drawing: question, finding and notes."""

    question: str
    notes: tuple[str, ...]
    finding: str | None = None

    @property
    def title(self) -> str:
        return self.finding or self.question


@dataclass(frozen=True)
class Point:
    """A value at a length with its 95 % interval; `hollow` if it is not a measurement of the case."""

    seq: int
    value: float
    low: float | None = None
    high: float | None = None
    hollow: bool = False


def points(estimates: Iterable[tuple[int, Estimate]]) -> tuple[Point, ...]:
    """A point for each length whose estimate has a value."""
    return tuple(Point(seq, e.value, e.low, e.high) for seq, e in estimates if e.value is not None)


@dataclass(frozen=True)
class Series:
    """One implementation's points, shortest length first; `light` marks its second figure."""

    label: str
    points: tuple[Point, ...]
    light: bool = False


@dataclass(frozen=True)
class Outcome:
    """The outcome of a case without a figure, in a word or two, for the strip under a panel."""

    label: str
    seq: int
    words: str


@dataclass(frozen=True)
class Panel:
    """One mode and one value of every other swept axis; `lengths` is its grid.

    `limit` is the memory limit; `crossings` are (label, length) where lines cross 1×; `published` are
    documents' curves by label, for other hardware and shapes.
    """

    title: str
    lengths: tuple[int, ...]
    series: tuple[Series, ...]
    outcomes: tuple[Outcome, ...]
    limit: float | None = None
    crossings: tuple[tuple[str, float], ...] = ()
    published: tuple[tuple[str, PublishedCurve], ...] = ()

    @property
    def values(self) -> list[float]:
        """All values that the vertical axis must cover."""
        points = [point for series in self.series for point in series.points]
        reach = [(point.value, point.low, point.high) for point in points]
        known = [number for numbers in reach for number in numbers if number is not None]
        known += [value for _, curve in self.published for _, value in curve.points]
        return known + ([self.limit] if self.limit is not None else [])


@dataclass(frozen=True)
class Chart(Captioned):
    """Lines over the length.

    `empty` is the text of a panel without points. A band around 1 shows ratios up to `margin` either way.
    """

    scale: Scale
    y_label: str
    empty: str
    panels: tuple[Panel, ...]
    margin: float | None = None

    def strip_rows(self, labels: Iterable[str]) -> list[str]:
        """The rows of the outcome strip, equal in all panels: labels with an outcome in any panel."""
        named = {outcome.label for panel in self.panels for outcome in panel.outcomes}
        return [label for label in labels if label in named]


@dataclass(frozen=True)
class Mark:
    """Two figures of an implementation with their 95 % intervals; `hollow` marks a theoretical value."""

    label: str
    across: Estimate
    up: Estimate
    hollow: bool = False


@dataclass(frozen=True)
class ScatterPanel:
    """Marks; `words` are the texts of rows (by index) without marks, between the first two uprights."""

    title: str
    marks: tuple[Mark, ...]
    words: Mapping[int, str] = field(default_factory=dict[int, str])


@dataclass(frozen=True)
class ScatterChart(Captioned):
    """Points with whiskers. With `rows` (labels from the top), a mark's `up` is the index of its row.

    `levels` and `uprights` are lines across all panels, with their names; `ratio` makes the x axis a ratio.
    """

    x_label: str
    y_label: str
    panels: tuple[ScatterPanel, ...]
    ratio: bool = False
    rows: tuple[str, ...] = ()
    levels: Mapping[float, str] = field(default_factory=dict[float, str])
    uprights: tuple[float, ...] = ()


AnyChart = Chart | ScatterChart
Placed = TypeVar("Placed", Point, Outcome)


def stretches(items: Iterable[Placed], lengths: tuple[int, ...]) -> list[list[Placed]]:
    """Points or outcomes split at lengths that have none, so that no line bridges a failed case."""
    places = {length: place for place, length in enumerate(lengths)}
    # In a stretch without a gap, an item's index in the grid and its number increase together.
    runs = groupby(enumerate(items), key=lambda numbered: places[numbered[1].seq] - numbered[0])
    return [[item for _, item in run] for _, run in runs]


FILES = "impls/*/curves.toml"


def published_curves(families: Collection[str]) -> list[PublishedCurve]:
    """The published curves of the built-in families, by family name."""
    return [
        PublishedCurve(
            *(curve["implementation"], curve["baseline"], curve["mode"], curve["source"]),
            tuple((seq, baseline / own) for seq, baseline, own in curve["times_ms"]),
        )
        for path in sorted(PROJECT.glob(FILES))
        if path.parent.name in families
        for curve in tomllib.loads(path.read_text())["curves"]
    ]
