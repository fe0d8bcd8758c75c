"""A chart over versions of compilers: each figure that changed, relative to the first version that has it."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.analysis.results import label_of
from harness.core.grouped import collected
from harness.core.record import Record
from harness.core.static_figures import WORDS
from harness.core.units import format_count
from harness.gate.static.compiler_versions import CompilerRun, figures_of
from harness.gate.static.diff import StaticFigures
from harness.gate.static.exact_kernel import EXACT_WORDS
from harness.report.charts.drawing.page import Sheet, draw_page
from harness.report.charts.drawing.scales import RATIO
from harness.report.charts.drawing.style import looks, style
from harness.report.charts.image import to_svg
from harness.report.charts.model import Chart, Outcome, Panel, Point, Series
from harness.report.format import short_label, status_words

Values = Sequence[float | str]  # by version: a figure, or in a word or two why there is none


@dataclass(frozen=True)
class Curve:
    """A figure of a case on a target, over all versions."""

    title: str  # `temp on host`
    record: Record
    values: Values

    @property
    def label(self) -> str:
        return label_of(self.record)

    @property
    def known(self) -> list[float]:
        return [value for value in self.values if not isinstance(value, str)]

    @property
    def factor(self) -> float:
        """Between the largest and the smallest of the figure."""
        least = min(self.known)
        return max(self.known) / least if least else math.inf


def draw_versions(runs: Sequence[CompilerRun]) -> bytes | None:
    """A panel per figure and target, as the bytes of an SVG; None where no figure changed.

    Of an implementation it is the case of which the figure changed most.
    """
    cases = {record.case: record for run in runs for record in run.records}
    curves = list(_curves(runs, cases))
    changed = [curve for curve in curves if len(set(curve.known)) > 1]
    chosen: dict[tuple[str, str], Curve] = {}
    for curve in sorted(changed, key=lambda curve: (curve.factor, curve.record.seq)):
        chosen[curve.title, curve.label] = curve
    if not chosen:
        return None
    names = _names(runs)
    titles = list(dict.fromkeys(curve.title for curve in changed))
    compiled = {curve.label for curve in curves if curve.known}
    panels = tuple(
        _panel(title, [curve for curve in chosen.values() if curve.title == title], names) for title in titles
    )
    labels = list(dict.fromkeys(curve.label for curve in chosen.values()))
    shown = collected((_place(curve.record), short_label(curve.label)) for curve in chosen.values())
    chart = Chart(
        question="What do other versions of the compilers make of the same code?",
        finding=f"{len(labels)} of {len(compiled)} implementations changed over {len(runs)} environments",
        scale=RATIO,
        y_label="relative to the first version",
        empty="the first version has 0 (see above)",
        panels=panels,
        notes=(
            "planned by the compilers, or read in their machine code; nothing ran",
            "1× is the first version that has the figure; of several kernels it is the largest",
            "of each implementation it is the case that changed most",
            *(f"{place}: {', '.join(dict.fromkeys(labels))}" for place, labels in shown.items()),
        ),
        x_label="versions",
    )
    with style():
        return to_svg(chart, draw_page(chart, Sheet(None, "", "", ""), looks(labels, "")))


def _place(record: Record) -> str:
    return f"{record.family} at {format_count(record.seq)}, {record.as_case.panel}"


def _names(runs: Sequence[CompilerRun]) -> tuple[str, ...]:
    """What each environment has that not all of them have: `jaxlib 0.9.0`, a line each."""
    packages = dict.fromkeys(name for run in runs for name in run.versions)
    varying = [name for name in packages if len({run.versions.get(name) for run in runs}) > 1]
    return tuple(
        "\n".join(f"{name} {run.versions.get(name) or 'none'}" for name in varying) or str(place)
        for place, run in enumerate(runs, 1)
    )


def _curves(runs: Sequence[CompilerRun], cases: dict[str, Record]) -> Iterator[Curve]:
    by_run = [figures_of(run.records) for run in runs]
    keys = dict.fromkeys(key for figures in by_run for key in figures)
    for name, words in {**WORDS, **EXACT_WORDS}.items():
        for case, target in keys:
            record, versions = cases[case], [figures.get((case, target)) for figures in by_run]
            counted_by = next((figures.flops_source for figures in versions if figures is not None), None)
            values = [_value(figures, name, target, counted_by) for figures in versions]
            yield Curve(f"{words} on {target}", record, values)


def _value(figures: StaticFigures | None, name: str, target: str, counted_by: str | None) -> float | str:
    if figures is None:
        return "no such case"
    if figures.state != "ok":
        return status_words(figures.state)
    if name == "flops" and figures.flops_source != counted_by:
        return "counted otherwise"
    known = [kernel.figures[name] for kernel in figures.kernels.get(target, ()) if name in kernel.figures]
    value = max(known) if known else figures.figures.get(name)
    return "no figure" if value is None else value


def _panel(title: str, curves: Sequence[Curve], names: tuple[str, ...]) -> Panel:
    places = tuple(2**place for place in range(len(names)))
    series: list[Series] = []
    outcomes: list[Outcome] = []
    for curve in curves:
        first, points = curve.known[0], list[Point]()
        for place, value in zip(places, curve.values, strict=True):
            if isinstance(value, str):
                outcomes.append(Outcome(curve.label, place, value))
            elif first and value:
                points.append(Point(place, value / first))
            else:  # a ratio to 0, and 0 itself, have no place on a logarithmic axis
                outcomes.append(Outcome(curve.label, place, f"{value:g}"))
        series.append(Series(curve.label, tuple(points)))
    return Panel(title, places, tuple(series), tuple(outcomes), names=names)
