"""Legibility of every chart of the reference runs, on light and dark backgrounds."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from matplotlib.colors import to_rgb

from harness.analysis.compare_runs import SideBySide, match_runs
from harness.analysis.suite_results import results_of
from harness.commands.compare import TREND
from harness.profile.charts import profile_figures
from harness.report.charts import suite_figures
from harness.report.charts.comparison import comparison_figure
from harness.report.charts.drawing.style import COLOURS, FAINT, INK, WARNING, style
from harness.store.find import find
from tests.report.charts.legibility import assert_legible
from tests.rooflines import machine

ROOT = Path(__file__).resolve().parents[3]
RUNS = sorted(path.name for path in (ROOT / "results/reference").iterdir())
GROUNDS = ("#ffffff", "#0d1117")


@cache
def read(name):
    folder = find(ROOT / "results", str(ROOT / "results/reference" / name))
    stored = folder.read()
    known = folder.fingerprints()
    rooflines = dict.fromkeys(known, machine(f64=5e10, f32=1.3e11))
    return {**stored.info, "fingerprints": known, "rooflines": rooflines}, stored.records


@pytest.fixture(params=[*(pytest.param(run, marks=pytest.mark.full) for run in RUNS[:-1]), RUNS[-1]])
def run(request):
    return read(request.param)


def test_texts_do_not_overlap_or_leave_the_page(run):
    for suite in results_of(*run):
        with style():
            figures = {**suite_figures(suite, run[0]), **profile_figures(suite, run[0])}
            for kind, (_, figure) in figures.items():
                assert_legible(figure, f"{suite.name}-{kind}")


def test_a_comparison_chart_is_legible(run):
    name, records = "a run of the same cases", run[1]
    matched = match_runs(records, [replace(record, run=name) for record in records])
    with style():
        _, figure = comparison_figure(SideBySide(True, TREND, "later", "earlier", {}, matched.changes, {}))
        assert_legible(figure, "comparison")


def luminance(rgb):
    """The relative luminance of WCAG 2.2, from sRGB in 0 to 1."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("colour", [INK, WARNING, *COLOURS])
def test_colours_contrast_with_light_and_dark_backgrounds(colour, ground):
    assert contrast(to_rgb(colour), to_rgb(ground)) >= 3


@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("colour", [INK, *COLOURS])
def test_words_contrast_with_their_bar(colour, ground):
    bar = [FAINT * c + (1 - FAINT) * g for c, g in zip(to_rgb(colour), to_rgb(ground), strict=True)]
    assert contrast(to_rgb(INK), bar) >= 3
