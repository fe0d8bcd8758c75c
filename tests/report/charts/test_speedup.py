from dataclasses import replace

import pytest

from harness.report.charts import draw_suite
from harness.report.charts.grid import CaseGrid
from harness.report.charts.model import PublishedCurve
from harness.report.charts.speedup import speedup
from tests.report.charts.suites import INFO, outcomes_of, record, suite, texts_of, words_of

K = 1024
GRID = (4 * K, 8 * K, 16 * K)


def crossing():
    """scatter is half as fast at 4Ki, equal in the middle of 4Ki and 16Ki, twice as fast at 16Ki."""
    return suite(
        *(record("broadcast", seq, 1e-7 * seq) for seq in (4 * K, 16 * K)),
        *(record("scatter", seq, 1e-7 * 8 * K) for seq in (4 * K, 16 * K)),
    )


def test_points_are_ratios():
    (series,) = speedup(CaseGrid.of(crossing())).panels[0].series
    assert [(point.seq, round(point.value, 6)) for point in series.points] == [(4 * K, 0.5), (16 * K, 2.0)]


def test_the_finding_is_the_title_and_the_question_stands_below():
    words = words_of("speedup", crossing())
    assert "scatter beats broadcast from 16Ki: 2.00×" in words
    assert "which columns of a score matrix stay open?" in words
    words = words_of("speedup", crossing(), {})
    assert "mask: from which length on is anything faster than broadcast?" in words


def test_the_crossover_is_drawn_at_its_interpolated_length():
    chart = speedup(CaseGrid.of(crossing()))
    ((label, seq),) = chart.panels[0].crossings
    assert label == "mask/scatter"
    assert seq == pytest.approx(8 * K, abs=2)
    assert "scatter: faster from 16Ki on, crossing at ≈ 8Ki" in chart.notes


def test_the_baseline_is_a_line_with_its_name_and_has_no_points():
    assert "broadcast (baseline)" in words_of("speedup", crossing())
    assert all(s.label != "mask/broadcast" for s in speedup(CaseGrid.of(crossing())).panels[0].series)


def given_up(status, power=2, reason="predicted 9 s a call: raise --budget"):
    """The baseline takes seq to this power and is given up at 64Ki; scatter grows with seq."""
    lengths = (1 * K, 4 * K, 16 * K)
    base = [record("broadcast", seq, 1e-9 * seq**power) for seq in lengths]
    found = (record("scatter", seq, 1e-6 * seq) for seq in (*lengths, 64 * K))
    return suite(*base, record("broadcast", 64 * K, status=status, reason=reason), *found)


def test_a_baseline_that_was_skipped_for_its_memory_bounds_nothing():
    chart = speedup(CaseGrid.of(given_up("skipped", reason="inferred from the oom at seq 32Ki")))
    assert len(chart.panels[0].series) == 1


def test_where_the_baseline_was_given_up_the_largest_measured_ratio_is_a_lower_bound():
    drawn = given_up("skipped")
    chart = speedup(CaseGrid.of(drawn))
    _, bound = chart.panels[0].series
    shown = [(p.seq, round(p.value, 3), p.hollow) for p in bound.points]
    assert shown == [(16 * K, 16.384, False), (64 * K, 16.384, True)]
    assert bound.bound
    assert any(note.startswith("hollow: a lower bound") for note in chart.notes)
    assert "scatter ≥ 16.4×" in words_of("speedup", drawn)


def test_a_bound_from_a_shorter_length_stands_alone_with_its_interval():
    """At the longest length there is no interval: no line leads from there to what another length says."""
    drawn = given_up("skipped")
    short = [r for r in drawn.records if r.case != drawn.records[2].case]
    once = replace(drawn.records[2].timing, samples_s=(0.25,), round=(0,), low_s=None, high_s=None)
    chart = speedup(CaseGrid.of(suite(*short, replace(drawn.records[2], timing=once))))
    _, bound = chart.panels[0].series
    ((point,), label) = bound.points, bound.label
    assert (label, point.seq, round(point.value, 3), point.hollow) == ("mask/scatter", 64 * K, 4.096, True)
    assert point.low is not None
    assert point.high is not None


@pytest.mark.parametrize(("status", "power"), [("skipped", 1), ("oom", 2), ("crashed", 2)])
def test_no_bound_where_the_lead_need_not_grow_and_the_axis_ends_with_the_points(status, power):
    chart = speedup(CaseGrid.of(given_up(status, power)))
    assert not any(series.bound for series in chart.panels[0].series)
    assert chart.panels[0].lengths == (1 * K, 4 * K, 16 * K)
    assert chart.panels[0].outcomes == ()
    assert any(note.startswith("broadcast at 64Ki") for note in chart.notes)


def test_no_crossover_in_range_is_said():
    slow = suite(*(record(n, s, t) for s in GRID for n, t in (("broadcast", 1e-3), ("scatter", 2e-3))))
    words = words_of("speedup", slow)
    assert any(word.startswith("• scatter: no crossover; none in range") for word in words)


def test_a_verdict_that_holds_in_one_panel_names_it():
    records = [
        record(name, seq, median, mode=mode)
        for mode, factor in (("fwd", 2.0), ("bwd", 0.5))
        for seq in GRID
        for name, median in (("broadcast", 1e-3), ("scatter", 1e-3 * factor))
    ]
    words = words_of("speedup", suite(*records))
    assert any(word.startswith("• scatter [fwd]: no crossover") for word in words)
    assert any(word.startswith("• scatter [bwd]: faster from 4Ki on") for word in words)


def test_a_baseline_that_failed_leaves_the_others_marked():
    lost = suite(record("broadcast", 4 * K, status="oom"), record("scatter", 4 * K, 1e-3))
    assert ("scatter", "no speedup", 4 * K) in outcomes_of(speedup(CaseGrid.of(lost)))
    assert "• scatter: speedup n/a (baseline oom)" in words_of("speedup", lost)


def test_the_footer_names_what_is_alike_once():
    """Four that beat a baseline, which plans too much at 16Ki, have one line; so has the baseline."""
    others = ("scatter", "scatter_flat", "threshold_exactk", "threshold_raw")
    why = "the compiler plans 3.00 MiB; the limit is 2.00 MiB: raise --memory or shorten the sequence"
    records = [
        *(record("broadcast", seq, 1e-2) for seq in GRID[:2]),
        record("broadcast", 16 * K, status="oom", reason=why),
        *(record(name, seq, 1e-3) for name in others for seq in GRID),
    ]
    lead, *rest = speedup(CaseGrid.of(suite(*records))).notes
    assert (
        lead
        == "all but broadcast: faster from 4Ki on; faster at every length; baseline absent from 16Ki (oom)"
    )
    assert "broadcast at 16Ki: out of memory: the compiler plans 3.00 MiB; the limit is 2.00 MiB" in rest
    assert not any("scatter" in line for line in rest)
    assert len(rest) <= 3


@pytest.mark.parametrize(
    ("baseline", "said"), [("", "n/a (no baseline)"), ("mask/gone", "n/a (no baseline at this workload)")]
)
def test_without_a_baseline_every_case_is_marked(baseline, said):
    drawn = suite(record("scatter", 4 * K, 1e-3), baseline=baseline)
    assert outcomes_of(speedup(CaseGrid.of(drawn))) == {("scatter", "no speedup", 4 * K)}
    assert f"• scatter: speedup {said}" in words_of("speedup", drawn)


def test_other_semantics_are_a_footnote_in_every_chart():
    records = record("dense", K, 1e-3), record("nsa", K, 1e-3, semantics="nsa_mslk")
    other = suite(*records, baseline="mask/dense")
    for svg in draw_suite(other, INFO).values():
        assert any("nsa: semantics nsa_mslk, the baseline's is exact" in word for word in texts_of(svg))


def test_other_semantics_are_a_footnote_without_a_baseline():
    other = suite(record("dense", K, 1e-3), record("nsa", K, 1e-3, semantics="nsa_mslk"), baseline="")
    words = words_of("latency", other)
    assert "• not mathematically equivalent to each other: dense (exact); nsa (nsa_mslk)" in words


@pytest.mark.parametrize(("status", "said"), [("incorrect", "and is"), ("ok", "but passed its contract")])
def test_an_expected_failure_is_said_to_be_expected(status, said):
    claim = record("claimed", K, status=status, expected=True)
    words = words_of("speedup", suite(record("broadcast", K, 1e-3), claim))
    assert f"• claimed: expected to be incorrect, {said}" in words


def test_a_published_curve_is_shown_over_the_lengths_of_its_own_panel_alone():
    points = ((2 * K, 0.1), (4 * K, 0.3), (8 * K, 0.6), (16 * K, 1.5), (64 * K, 4.0))
    curve = PublishedCurve("mask/scatter", "mask/broadcast", "fwd", "Pull #1, GB200", points)
    others = (replace(curve, mode="bwd"), replace(curve, baseline="mask/scatter"))
    chart = speedup(CaseGrid.of(crossing()), (curve, *others))
    assert chart.panels[0].published == (("mask/scatter", replace(curve, points=points[1:4])),)
    words = words_of("speedup", crossing(), curves=(curve,))
    assert "scatter, Pull #1, GB200 (published)" in " ".join(words)
    assert any("dotted with a source: as published" in word for word in words)
    assert speedup(CaseGrid.of(crossing()), (replace(curve, points=points[:2]),)).panels[0].published == ()
