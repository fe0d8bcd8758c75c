"""Charts as data, before anything is drawn: points, outcomes and sentences."""

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
    """A document's speedups over length, by its own times, on its hardware and shapes."""

    implementation: str  # `family/name`
    baseline: str  # `family/name`
    mode: str  # fwd, bwd or fwd_bwd
    source: str  # the document and its hardware: `MSLK #296, GB200`
    points: tuple[tuple[int, float], ...]  # (length, the baseline's time over the implementation's)


@dataclass(frozen=True, kw_only=True)
class Captioned:
    """The texts around any drawing: question, finding and notes."""

    question: str
    notes: tuple[str, ...]
    finding: str | None = None

    @property
    def title(self) -> str:
        return self.finding or self.question


@dataclass(frozen=True)
class Point:
    """A value at a length with its 95 % interval; `hollow` where it is not what was measured of the case."""

    seq: int
    value: float
    low: float | None = None
    high: float | None = None
    hollow: bool = False


def points(estimates: Iterable[tuple[int, Estimate]]) -> tuple[Point, ...]:
    """A point for every length whose estimate has a value."""
    return tuple(Point(seq, e.value, e.low, e.high) for seq, e in estimates if e.value is not None)


@dataclass(frozen=True)
class Series:
    """One implementation's points, shortest first.

    `light` is a second figure of the same one.
    """

    label: str
    points: tuple[Point, ...]
    light: bool = False


@dataclass(frozen=True)
class Outcome:
    """The outcome of a case that gave no figure, in a word or two, for the strip under a panel."""

    label: str
    seq: int
    words: str


@dataclass(frozen=True)
class Panel:
    """One mode and one value of every other swept axis; `lengths` is its grid.

    `limit` is the memory that it may take; `crossings` are (label, length) where lines cross 1×;
    `published` are curves of documents, by label, of other hardware and shapes.
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
        """All values that the vertical axis must span."""
        points = [point for series in self.series for point in series.points]
        reach = [(point.value, point.low, point.high) for point in points]
        known = [number for numbers in reach for number in numbers if number is not None]
        known += [value for _, curve in self.published for _, value in curve.points]
        return known + ([self.limit] if self.limit is not None else [])


@dataclass(frozen=True)
class Chart(Captioned):
    """Lines over the length.

    `empty` is the text of a panel without any point. Ratios up to `margin`, either way, are in a band
    around 1.
    """

    scale: Scale
    y_label: str
    empty: str
    panels: tuple[Panel, ...]
    margin: float | None = None

    def strip_rows(self, labels: Iterable[str]) -> list[str]:
        """The rows of the outcome strip, the same in all panels: labels with an outcome in any panel."""
        named = {outcome.label for panel in self.panels for outcome in panel.outcomes}
        return [label for label in labels if label in named]


@dataclass(frozen=True)
class Mark:
    """Two figures of an implementation with their 95 % intervals; `hollow` is what theory expects."""

    label: str
    across: Estimate
    up: Estimate
    hollow: bool = False


@dataclass(frozen=True)
class ScatterPanel:
    """Marks; `words` stand in the rows (by their place) that have none, between the first two uprights."""

    title: str
    marks: tuple[Mark, ...]
    words: Mapping[int, str] = field(default_factory=dict[int, str])


@dataclass(frozen=True)
class ScatterChart(Captioned):
    """Points with whiskers. Where there are `rows` (labels, the first on top), `up` is a row's place.

    `levels` and `uprights` are lines across all panels, with their names; `ratio` puts a ratio across.
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
    """Points or outcomes split where a length of the grid has none, so that no line bridges a failed case."""
    places = {length: place for place, length in enumerate(lengths)}
    # In a stretch without a gap, an item's place in the grid and its number rise together.
    runs = groupby(enumerate(items), key=lambda numbered: places[numbered[1].seq] - numbered[0])
    return [[item for _, item in run] for _, run in runs]


FILES = "impls/*/curves.toml"


def published_curves(families: Collection[str]) -> list[PublishedCurve]:
    """The curves of the project's own families, in the order of their names."""
    return [
        PublishedCurve(
            *(curve["implementation"], curve["baseline"], curve["mode"], curve["source"]),
            tuple((seq, baseline / own) for seq, baseline, own in curve["times_ms"]),
        )
        for path in sorted(PROJECT.glob(FILES))
        if path.parent.name in families
        for curve in tomllib.loads(path.read_text())["curves"]
    ]
