from harness.core.record import Correctness
from harness.report.charts.grid import CaseGrid
from harness.report.charts.recall import recall
from tests.report.charts.suites import record, suite, words_of

K = 1024


def correctness_of(share, low=None, high=None):
    figures = {"recall": share, "recall_low": low, "recall_high": high, "target": 0.95}
    return Correctness("recall", True, "whole", figures)


def approximate(**changed):
    return suite(
        record("exact", 4 * K, 2e-3),
        record("buckets", 4 * K, 1e-3, correctness=correctness_of(0.97, 0.96, 0.98), **changed),
        record("failed", 4 * K, status="oom"),
        baseline="mask/exact",
    )


def test_recall_stands_over_the_speedup():
    chart = recall(CaseGrid.of(approximate()))
    (panel,) = chart.panels
    assert panel.title == "4Ki"
    assert [(m.label, round(m.across.value, 6), m.up[:3]) for m in panel.marks] == [
        ("mask/exact", 1.0, (1.0, None, None)),
        ("mask/buckets", 2.0, (0.97, 0.96, 0.98)),
    ]
    assert chart.levels == {0.95: "target 0.95"}
    assert any(note.startswith("failed") for note in chart.notes)


def test_what_theory_expects_is_hollow():
    chart = recall(CaseGrid.of(approximate(facts={"expected_recall": 0.9716})))
    assert [(m.label, m.up.value) for m in chart.panels[0].marks if m.hollow] == [("mask/buckets", 0.9716)]
    assert any(note.startswith("hollow: the recall that theory expects") for note in chart.notes)


def test_exact_answers_alone_have_no_chart():
    one = suite(record("exact", 4 * K, 2e-3), baseline="mask/exact")
    assert recall(CaseGrid.of(one)) is None


def test_it_is_drawn_with_its_target():
    words = words_of("recall", approximate())
    assert {"target 0.95", "exact (baseline)", "recall", "speedup over the baseline"} <= set(words)
