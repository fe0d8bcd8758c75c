import re

from harness.core.record import Memory
from harness.report.charts import draw_suite
from harness.report.charts.grid import CaseGrid
from harness.report.charts.memory import memory
from tests.report.charts.suites import INFO, drawn_ids, record, static, suite, texts_of

K = 1024
GIB = 2**30


def series_of(chart, panel=0):
    return {(s.label, s.light): s.points for s in chart.panels[panel].series}


def test_planned_bytes_of_a_case_that_ran_out_are_a_hollow_point():
    drawn = suite(
        record("broadcast", K, 1e-3, temp=GIB), record("broadcast", 2 * K, status="oom", temp=264 * GIB)
    )
    points = series_of(memory(CaseGrid.of(drawn), INFO))["mask/broadcast", False]
    assert [(point.seq, point.value, point.hollow) for point in points] == [
        (K, GIB, False),
        (2 * K, 264 * GIB, True),
    ]
    svg = draw_suite(drawn, INFO)["memory"]
    assert "planned, though the case gave no timing" in texts_of(svg)
    face = re.search(rb'id="panel0\.point\.broadcast\.2048".*?fill: (#\w+)', svg, re.DOTALL)
    assert face is not None
    assert face[1] == b"#ffffff"


def test_the_limit_of_the_run_or_of_the_suite_is_a_line():
    drawn = suite(record("broadcast", K, 1e-3))
    svg = draw_suite(drawn, INFO)["memory"]
    assert "panel0.limit" in drawn_ids(svg)
    assert "limit 18 GiB" in texts_of(svg)
    own = {**INFO, "suites": {"mask": {"settings": {"memory_bytes": 4 * GIB}}}}
    assert "limit 4 GiB" in texts_of(draw_suite(drawn, own)["memory"])
    assert "panel0.limit" not in drawn_ids(draw_suite(drawn, {})["memory"])


def test_measured_high_water_is_a_lighter_series():
    drawn = suite(record("scatter", K, 1e-3, memory=Memory(3 * 2**20)), baseline="")
    assert series_of(memory(CaseGrid.of(drawn), {}))["mask/scatter", True][0].value == 3 * 2**20
    ids = drawn_ids(draw_suite(drawn, INFO)["memory"])
    assert {"panel0.light.scatter.1024", "panel0.point.scatter.1024"} <= ids


def test_zero_bytes_stand_on_a_marked_floor():
    drawn = suite(record("broadcast", K, 1e-3, temp=2**20), record("scatter", K, 1e-3, temp=0))
    assert "0 B" in texts_of(draw_suite(drawn, INFO)["memory"])
    nothing = suite(record("scatter", K, 1e-3, temp=0))
    assert "0 B" in texts_of(draw_suite(nothing, {})["memory"])
    assert "0 B" not in texts_of(draw_suite(suite(record("scatter", K, 1e-3)), INFO)["memory"])


def test_a_missing_figure_is_marked_and_explained():
    drawn = suite(record("scatter", K, 1e-3, temp=None, static={"host": static(None)}))
    svg = draw_suite(drawn, INFO)["memory"]
    assert "panel0.strip.no_figure.scatter.1024" in drawn_ids(svg)
    assert "• scatter: no temporaries: torch has no planner of memory" in texts_of(svg)


def test_a_case_that_was_never_compiled_is_marked_and_explained():
    svg = draw_suite(suite(record("scatter", K, 1e-3, temp=None)), INFO)["memory"]
    assert "panel0.strip.no_figure.scatter.1024" in drawn_ids(svg)
    assert "• scatter: no temporaries: not compiled" in texts_of(svg)


def test_every_target_has_its_panel_and_only_its_own_figures():
    both = {"tpu:v5p": static(2**30, fits=False), "host": static(2**20)}
    drawn = suite(record("scatter", K, 1e-3, static=both), record("scatter", 2 * K, 1e-3))
    chart = memory(CaseGrid.of(drawn), INFO)
    assert [panel.title for panel in chart.panels] == ["host", "tpu:v5p"]
    assert [panel.limit for panel in chart.panels] == [18 * GIB, None]
    assert [point.value for point in series_of(chart, 1)["mask/scatter", False]] == [2**30]
    ids = drawn_ids(draw_suite(drawn, INFO)["memory"])
    assert {"panel1.strip.does_not_fit.scatter.1024", "panel1.strip.no_figure.scatter.2048"} <= ids
    assert not any(name.startswith("panel0.strip.") for name in ids)


def test_a_failure_on_the_host_is_none_of_another_target():
    both = {"host": static(264 * GIB), "tpu:v5p": static(2**20, fits=True)}
    chart = memory(CaseGrid.of(suite(record("scatter", K, status="oom", static=both))), INFO)
    assert [mark.symbol for mark in chart.panels[0].marks] == ["oom"]
    assert chart.panels[1].marks == ()
    assert [point.hollow for point in series_of(chart, 1)["mask/scatter", False]] == [False]
