import pytest

from harness.report.charts import draw_suite
from harness.report.charts.grid import CaseGrid
from harness.report.charts.speedup import speedup
from tests.report.charts.suites import INFO, drawn_ids, record, suite, texts_of

K = 1024
GRID = (4 * K, 8 * K, 16 * K)


def crossing():
    """scatter is half as fast at 4Ki, equal in the middle of 4Ki and 16Ki, twice as fast at 16Ki."""
    return suite(
        *(record("broadcast", seq, 1e-7 * seq) for seq in (4 * K, 16 * K)),
        *(record("scatter", seq, 1e-7 * 8 * K) for seq in (4 * K, 16 * K)),
    )


def test_points_are_ratios_and_the_first_win_alone_is_filled():
    chart = speedup(CaseGrid.of(crossing()))
    (series,) = chart.panels[0].series
    assert [(point.seq, round(point.value, 6), point.hollow) for point in series.points] == [
        (4 * K, 0.5, True),
        (16 * K, 2.0, False),
    ]


def test_the_crossover_is_marked_at_its_interpolated_length():
    svg = draw_suite(crossing(), INFO)["speedup"]
    (mark,) = [mark for mark in drawn_ids(svg) if ".crossover." in mark]
    name, _, seq = mark.rpartition(".")
    assert name == "panel0.strip.crossover.scatter"
    assert float(seq) == pytest.approx(8 * K, abs=2)
    assert "• scatter: faster from 16Ki on, crossing at ≈ 8Ki" in texts_of(svg)
    assert "crossover, interpolated between lengths" in texts_of(svg)


def test_the_1x_line_is_there_and_the_baseline_has_no_points():
    ids = drawn_ids(draw_suite(crossing(), INFO)["speedup"])
    assert "panel0.one" in ids
    assert not any("point.broadcast" in name for name in ids)


def test_no_crossover_in_range_is_said():
    slow = suite(*(record(n, s, t) for s in GRID for n, t in (("broadcast", 1e-3), ("scatter", 2e-3))))
    words = texts_of(draw_suite(slow, INFO)["speedup"])
    assert any(word.startswith("• scatter: no crossover (none in range") for word in words)


def test_a_verdict_that_holds_in_one_panel_names_it():
    records = [
        record(name, seq, median, mode=mode)
        for mode, factor in (("fwd", 2.0), ("bwd", 0.5))
        for seq in GRID
        for name, median in (("broadcast", 1e-3), ("scatter", 1e-3 * factor))
    ]
    words = texts_of(draw_suite(suite(*records), INFO)["speedup"])
    assert any(word.startswith("• scatter [fwd]: no crossover") for word in words)
    assert any(word.startswith("• scatter [bwd]: faster from 4Ki on") for word in words)


def test_a_baseline_that_failed_leaves_the_others_marked():
    lost = suite(record("broadcast", 4 * K, status="oom"), record("scatter", 4 * K, 1e-3))
    svg = draw_suite(lost, INFO)["speedup"]
    assert "panel0.strip.no_ratio.scatter.4096" in drawn_ids(svg)
    assert "• scatter: speedup n/a (baseline oom)" in texts_of(svg)


@pytest.mark.parametrize(
    ("baseline", "said"), [("", "n/a (no baseline)"), ("mask/gone", "n/a (no baseline at this workload)")]
)
def test_without_a_baseline_every_case_is_marked(baseline, said):
    svg = draw_suite(suite(record("scatter", 4 * K, 1e-3), baseline=baseline), INFO)["speedup"]
    assert "panel0.strip.no_ratio.scatter.4096" in drawn_ids(svg)
    assert f"• scatter: speedup {said}" in texts_of(svg)


def test_other_semantics_are_a_footnote_in_every_chart():
    other = suite(
        record("dense", K, 1e-3), record("nsa", K, 1e-3, semantics="nsa_mslk"), baseline="mask/dense"
    )
    for svg in draw_suite(other, INFO).values():
        assert any("nsa: semantics nsa_mslk, the baseline's is exact" in word for word in texts_of(svg))


def test_other_semantics_are_a_footnote_without_a_baseline():
    other = suite(record("dense", K, 1e-3), record("nsa", K, 1e-3, semantics="nsa_mslk"), baseline="")
    words = texts_of(draw_suite(other, INFO)["latency"])
    assert "• other semantics, other answers: dense exact, nsa nsa_mslk" in words


def test_an_expected_failure_is_said_to_be_expected():
    claim = record("claimed", K, status="incorrect", expected=True)
    words = texts_of(draw_suite(suite(record("broadcast", K, 1e-3), claim), INFO)["speedup"])
    assert "• claimed: expected to be incorrect, and is" in words


def test_an_expected_failure_that_passes_is_said_too():
    words = texts_of(draw_suite(suite(record("claimed", K, 1e-3, expected=True)), INFO)["speedup"])
    assert "• claimed: expected to be incorrect, but passed its contract" in words
