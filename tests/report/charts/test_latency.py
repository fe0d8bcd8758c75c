import pytest

from harness.core.record import STATUSES
from harness.report.charts import draw_suite
from harness.report.charts.drawing.outcome_strip import small_print
from harness.report.charts.grid import CaseGrid
from harness.report.charts.latency import latency
from harness.report.charts.marks import MEANINGS
from harness.report.charts.model import Mark
from tests.report.charts.suites import INFO, drawn_ids, record, static, suite, texts_of, timing

K = 1024


def test_points_are_medians_with_their_intervals():
    one = record("scatter", 4 * K, 1e-3)
    chart = latency(CaseGrid.of(suite(one, baseline="")))
    (point,) = chart.panels[0].series[0].points
    assert (point.value, point.low, point.high) == (one.timing.median_s, one.timing.low_s, one.timing.high_s)


@pytest.mark.parametrize("status", [status for status in STATUSES if status != "ok"])
def test_every_status_has_its_symbol_its_legend_and_its_reason(status):
    failed = record("scatter", 64 * K, status=status)
    for svg in draw_suite(suite(record("broadcast", 64 * K, 1e-3), failed), INFO).values():
        assert f"panel0.strip.{status}.scatter.65536" in drawn_ids(svg)
        assert MEANINGS[status] in texts_of(svg)
        assert any(f"{status}: {status} because of scatter" in word for word in texts_of(svg))


def test_a_suite_in_which_everything_failed_is_still_drawn():
    failed = [
        record(name, seq, status="oom", temp=2**40) for name in ("broadcast", "scatter") for seq in (K, 2 * K)
    ]
    charts = draw_suite(suite(*failed), INFO)
    assert "nothing was timed" in texts_of(charts["latency"])
    assert "no speedup to show (see notes)" in texts_of(charts["speedup"])
    for svg in charts.values():
        assert {
            f"panel0.strip.oom.{n}.{s}" for n in ("broadcast", "scatter") for s in (K, 2 * K)
        } <= drawn_ids(svg)


def test_an_oom_says_what_was_planned():
    failed = record("broadcast", 64 * K, status="oom", temp=264 * 2**30)
    words = texts_of(draw_suite(suite(failed, record("broadcast", K, 1e-3)), INFO)["latency"])
    assert "264 GiB planned" in words
    assert any(word.startswith("• broadcast at 64Ki (264 GiB planned): oom:") for word in words)


def test_a_case_that_was_only_checked_is_marked():
    svg = draw_suite(suite(record("scatter", 4 * K)), INFO)["latency"]
    assert "panel0.strip.not_timed.scatter.4096" in drawn_ids(svg)


def test_a_failed_replicate_shows_beside_a_timed_one():
    both = (record("scatter", 4 * K, 1e-3), record("scatter", 4 * K, status="crashed", replicate=1))
    ids = drawn_ids(draw_suite(suite(*both), INFO)["latency"])
    assert {"panel0.point.scatter.4096", "panel0.strip.crashed.scatter.4096"} <= ids


def test_values_without_an_interval_are_counted():
    few = record("scatter", 4 * K, 1e-3, timing=timing(1e-3, rounds=3))
    words = texts_of(draw_suite(suite(few), INFO)["latency"])
    assert any("no interval at 1 point: needs ≥ 6 rounds; has 3" in word for word in words)
    assert not any("95 % intervals" in word for word in words)


def test_intervals_are_over_rounds_of_one_process_or_over_processes():
    rounds = suite(record("scatter", 4 * K, 1e-3))
    processes = suite(*(record("scatter", 4 * K, 1e-3 * (1 + i / 50), replicate=i) for i in range(4)))
    assert "• bands and bars: 95 % intervals over rounds within one process" in latency_words(rounds)
    assert "• bands and bars: 95 % intervals over processes" in latency_words(processes)


def latency_words(drawn):
    return texts_of(draw_suite(drawn, INFO)["latency"])


def test_small_print_never_overlaps_and_prefers_the_crossover():
    marks = [
        Mark("a", 2.0, "oom", ("264 GiB planned", "264 GiB")),
        Mark("a", 2.1, "crossover", ("≈ 9.81Ki",)),
    ]
    assert [words for _, words in small_print(marks, lambda seq: seq, right=4.0)] == ["≈ 9.81Ki"]
    marks[0] = Mark("a", 1.55, "oom", ("264 GiB planned", "264 GiB"))
    assert [words for _, words in small_print(marks, lambda seq: seq, right=4.0)] == ["≈ 9.81Ki", "264 GiB"]


def test_small_print_stays_in_its_panel():
    ((centre, _),) = small_print([Mark("a", 4.0, "oom", ("264 GiB planned",))], lambda seq: seq, right=4.0)
    assert centre < 3.8


def test_static_figures_alone_are_no_timing():
    only = record("scatter", 4 * K, static={"host": static(2**20)}, correctness=None)
    assert "nothing was timed" in latency_words(suite(only))
