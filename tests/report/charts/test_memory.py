import pytest

from harness.core.record import Memory
from harness.report.charts.grid import CaseGrid
from harness.report.charts.memory import memory
from tests.report.charts.suites import INFO, outcomes_of, record, static, suite, words_of

K = 1024
GIB = 2**30


def series_of(chart, panel=0):
    return {(s.label, s.light): s.points for s in chart.panels[panel].series}


def test_planned_bytes_of_a_case_that_ran_out_are_a_hollow_point():
    failed = record("broadcast", 2 * K, status="oom", temp=264 * GIB)
    drawn = suite(record("broadcast", K, 1e-3, temp=GIB), failed)
    points = series_of(memory(CaseGrid.of(drawn), INFO))["mask/broadcast", False]
    shown = [(point.seq, point.value, point.hollow) for point in points]
    assert shown == [(K, GIB, False), (2 * K, 264 * GIB, True)]
    legend = "• static figures are for target host; hollow: planned, though the case gave no timing"
    assert legend in words_of("memory", drawn)


def test_the_limit_of_the_run_or_of_the_suite_is_a_line():
    drawn = suite(record("broadcast", K, 1e-3))
    assert "limit 18 GiB" in words_of("memory", drawn)
    own = {**INFO, "suites": {"mask": {"settings": {"memory_bytes": 4 * GIB}}}}
    assert "limit 4 GiB" in words_of("memory", drawn, own)
    assert not any("limit" in text for text in words_of("memory", drawn, {}))


def test_measured_high_water_is_a_lighter_series():
    drawn = suite(record("scatter", K, 1e-3, memory=Memory(3 * 2**20)), baseline="")
    assert series_of(memory(CaseGrid.of(drawn), {}))["mask/scatter", True][0].value == 3 * 2**20
    notes = memory(CaseGrid.of(drawn), {}).notes
    assert "small and dotted: resident high water as it was measured (outputs count too)" in notes


def test_on_a_gpu_the_device_is_named_and_the_hosts_limit_is_no_line():
    figures = {"device": "cuda", "memory": Memory(3 * 2**20), "static": {"cuda": static(2**20)}}
    shown = words_of("memory", suite(record("scatter", K, 1e-3, **figures), baseline=""))
    assert "• static figures are for target cuda" in shown
    assert not any("limit" in text or "resident" in text or "host" in text for text in shown)


def test_zero_bytes_stand_on_a_marked_floor():
    drawn = suite(record("broadcast", K, 1e-3, temp=2**20), record("scatter", K, 1e-3, temp=0))
    assert "0 B" in words_of("memory", drawn)
    nothing = suite(record("scatter", K, 1e-3, temp=0))
    assert "0 B" in words_of("memory", nothing, {})
    assert "0 B" not in words_of("memory", suite(record("scatter", K, 1e-3)))


@pytest.mark.parametrize(
    ("figures", "why"), [({"host": static(None)}, "torch has no planner of memory"), ({}, "not compiled")]
)
def test_a_missing_figure_is_marked_and_explained(figures, why):
    drawn = suite(record("scatter", K, 1e-3, temp=None, static=figures))
    assert outcomes_of(memory(CaseGrid.of(drawn), INFO)) == {("scatter", "no figure", K)}
    assert f"• scatter: no temporaries: {why}" in words_of("memory", drawn)


def test_every_target_has_its_panel_and_only_its_own_figures():
    both = {"tpu:v5p": static(2**30, fits=False), "host": static(2**20)}
    drawn = suite(record("scatter", K, 1e-3, static=both), record("scatter", 2 * K, 1e-3))
    chart = memory(CaseGrid.of(drawn), INFO)
    assert [panel.title for panel in chart.panels] == ["host", "tpu:v5p"]
    assert [panel.limit for panel in chart.panels] == [18 * GIB, None]
    assert [point.value for point in series_of(chart, 1)["mask/scatter", False]] == [2**30]
    assert outcomes_of(chart) == set()
    assert outcomes_of(chart, 1) == {("scatter", "does not fit", K), ("scatter", "no figure", 2 * K)}


def test_a_failure_on_the_host_is_none_of_another_target():
    both = {"host": static(264 * GIB), "tpu:v5p": static(2**20, fits=True)}
    chart = memory(CaseGrid.of(suite(record("scatter", K, status="oom", static=both))), INFO)
    assert outcomes_of(chart) == {("scatter", "out of memory", K)}
    assert outcomes_of(chart, 1) == set()
    assert [point.hollow for point in series_of(chart, 1)["mask/scatter", False]] == [False]


def test_the_title_is_what_the_longest_length_plans():
    def title(*records):
        return memory(CaseGrid.of(suite(*records)), INFO).title

    base = record("broadcast", K, 1e-3, temp=2 * GIB)
    few, raw = record("scatter", K, 1e-3, temp=4 * 2**20), record("raw", K, temp=0, semantics="threshold")
    assert title(base, few, raw) == "scatter plans 4.00 MiB of temporaries at 1Ki, broadcast 2.00 GiB"
    more = record("scatter", K, 1e-3, temp=3 * GIB)
    assert title(base, more) == "nothing plans less memory than broadcast at 1Ki: 2.00 GiB of temporaries"
    assert title(more) == "mask: how much temporary memory does it need?"
