from dataclasses import replace

from harness.core.record import STATUSES
from harness.report.charts import draw_suite
from harness.report.charts.grid import CaseGrid
from harness.report.charts.latency import latency
from harness.report.charts.memory import memory
from harness.report.charts.speedup import speedup
from harness.report.format import status_words
from tests.report.charts.suites import INFO, outcomes_of, record, static, suite, texts_of, timing, words_of

K = 1024


def test_points_are_medians_with_their_intervals():
    one = record("scatter", 4 * K, 1e-3)
    chart = latency(CaseGrid.of(suite(one, baseline="")))
    (point,) = chart.panels[0].series[0].points
    assert (point.value, point.low, point.high) == (one.timing.median_s, one.timing.low_s, one.timing.high_s)


def charts_of(drawn):
    grid = CaseGrid.of(drawn)
    return {"latency": latency(grid), "speedup": speedup(grid), "memory": memory(grid, INFO)}


def test_every_status_has_its_words_and_its_reason():
    failed = [status for status in STATUSES if status != "ok"]
    baseline = [record("broadcast", seq * K, 1e-3) for seq in (64, 4)]
    ended = [record(status, 4 * K, status=status) for status in failed]
    drawn = suite(*baseline, *ended, record("threshold", 64 * K, 1e-3))
    svgs = draw_suite(drawn, INFO)
    for name, chart in charts_of(drawn).items():
        texts = texts_of(svgs[name])
        for status in failed:
            words = status_words(status)
            assert (status, words, 4 * K) in outcomes_of(chart), name
            assert words in texts
            assert any(f"{words}: {status} because of {status}" in text for text in texts)


def test_a_suite_in_which_everything_failed_is_still_drawn():
    cases = [(name, seq) for name in ("broadcast", "scatter") for seq in (K, 2 * K)]
    failed = [record(*case, status="oom", temp=2**40) for case in cases]
    drawn = suite(*failed)
    svgs = draw_suite(drawn, INFO)
    assert "nothing was timed" in texts_of(svgs["latency"])
    assert "no speedup to show (see notes)" in texts_of(svgs["speedup"])
    for chart in charts_of(drawn).values():
        assert outcomes_of(chart) == {(name, "out of memory", seq) for name, seq in cases}


def test_an_oom_says_what_was_planned():
    failed = record("broadcast", 64 * K, status="oom", temp=264 * 2**30)
    words = words_of("latency", suite(failed, record("broadcast", K, 1e-3)))
    assert any(word.startswith("• broadcast at 64Ki (264 GiB planned): out of memory:") for word in words)


def test_a_case_that_was_only_checked_is_marked():
    chart = latency(CaseGrid.of(suite(record("scatter", 4 * K))))
    assert outcomes_of(chart) == {("scatter", "not timed", 4 * K)}


def test_a_failed_replicate_shows_beside_a_timed_one():
    both = (record("scatter", 4 * K, 1e-3), record("scatter", 4 * K, status="crashed", replicate=1))
    chart = latency(CaseGrid.of(suite(*both)))
    assert [point.seq for point in chart.panels[0].series[0].points] == [4 * K]
    assert outcomes_of(chart) == {("scatter", "crashed", 4 * K)}


def test_values_without_an_interval_are_counted():
    few = record("scatter", 4 * K, 1e-3, timing=timing(1e-3, rounds=3))
    words = words_of("latency", suite(few))
    assert any("no interval at 1 point: needs ≥ 6 rounds" in word for word in words)
    assert not any("95 % intervals" in word for word in words)


def test_intervals_are_over_rounds_of_one_process_or_over_processes():
    rounds = suite(record("scatter", 4 * K, 1e-3))
    processes = suite(*(record("scatter", 4 * K, 1e-3 * (1 + i / 50), replicate=i) for i in range(4)))
    assert "• bands and bars: 95 % intervals over rounds within one process" in words_of("latency", rounds)
    assert "• bands and bars: 95 % intervals over processes" in words_of("latency", processes)


def test_static_figures_alone_are_no_timing():
    only = record("scatter", 4 * K, static={"host": static(2**20)}, correctness=None)
    assert "nothing was timed" in words_of("latency", suite(only))


def test_failures_for_different_reasons_are_told_apart():
    grown = suite(
        record("broadcast", 4 * K, 1e-3),
        record("broadcast", 16 * K, status="crashed", reason="ValueError: no rows"),
        record("broadcast", 32 * K, status="crashed", reason="ValueError: no rows"),
        record("broadcast", 64 * K, status="crashed", reason="killed by signal 11"),
    )
    notes = latency(CaseGrid.of(grown)).notes
    assert "broadcast at 16Ki, 32Ki: crashed: ValueError: no rows" in notes
    assert "broadcast at 64Ki: crashed: killed by signal 11" in notes


def test_times_of_another_clock_are_named():
    host, *device = (record(name, 4 * K, 1e-3) for name in ("broadcast", "scatter", "threshold"))
    device = [replace(each, timing=replace(each.timing, method="cuda_events")) for each in device]
    note = "broadcast, timed by the host's clock, the others by the device's"
    assert note in latency(CaseGrid.of(suite(host, *device))).notes
    assert note not in latency(CaseGrid.of(suite(*device, baseline=""))).notes
