from harness.report.charts.grid import CaseGrid
from harness.report.charts.scaling import scaling
from tests.report.charts.suites import record, suite

K = 1024
GRID = (4 * K, 8 * K, 16 * K)


def chart_of(*records):
    return scaling(CaseGrid.of(suite(*records)))


def growing():
    """broadcast takes seq squared, scatter seq; both plan seq bytes, as a third does, which never ran."""
    return chart_of(
        *(record("broadcast", seq, 1e-9 * seq**2, temp=seq) for seq in GRID),
        *(record("scatter", seq, 1e-6 * seq, temp=seq) for seq in GRID),
        *(record("sorted", seq, status="oom", temp=seq) for seq in GRID),
    )


def marks(chart, panel):
    return [(m.label, round(m.across.value, 6), m.up.value) for m in chart.panels[panel].marks]


def test_exponents_stand_in_the_row_of_their_implementation():
    chart = growing()
    assert [panel.title for panel in chart.panels] == ["time", "planned temporaries"]
    assert marks(chart, 0) == [("mask/broadcast", 2.0, 0.0), ("mask/scatter", 1.0, 1.0)]
    assert chart.panels[0].words == {2: "none"}
    assert marks(chart, 1)[2] == ("mask/sorted", 1.0, 2.0)
    assert chart.title == "scatter's time grows as seq^1.00, broadcast's as seq^2.00"
    assert "sorted: time: needs ≥ 2 lengths; has 0 (oom)" in chart.notes


def test_two_lengths_give_a_point_without_a_whisker_and_no_finding():
    chart = chart_of(
        *(record("broadcast", seq, 1e-9 * seq**2, temp=0) for seq in GRID[:2]),
        *(record("scatter", seq, 1e-6 * seq, temp=0) for seq in GRID[:2]),
    )
    assert [(m.across.low, m.across.high) for m in chart.panels[0].marks] == [(None, None)] * 2
    assert chart.title == "mask: with which power of the length does it grow?"
    assert "broadcast, scatter: time: needs ≥ 3 lengths for an interval; has 2" in chart.notes


def test_one_length_has_no_chart():
    assert chart_of(record("broadcast", 4 * K, 1e-3)) is None
