"""The chart of cold starts whose every second is known."""

import pytest

from harness.profile.charts.cold import cold_chart
from harness.profile.cold_start import cold_cases
from tests.profile.test_cold_start import BASE, cold

MINE = cold("mine", import_=1.0, compile=9.0, first_call=1.0, later_call=1.0, cache_hit=0.5)


def test_a_bar_holds_the_steps_to_the_first_result_in_their_order():
    chart = cold_chart(cold_cases([BASE, MINE]))
    base, mine = chart.bars
    assert list(mine.parts.items()) == [("import", 1.0), ("compile", 9.0), ("first call", 1.0)]
    assert (mine.low, mine.high, mine.words) == (11.0, 11.0, "then 1.0 s a call, pays back at call 9")
    assert base.words == "then 2.0 s a call"
    assert list(chart.colours) == ["import", "compile", "first call"]
    assert chart.title == "at 1Ki base has its first result after 3.0 s, mine after 11 s"
    assert "base, mine, no trace: eager" in chart.notes


def test_the_longest_length_alone_is_drawn_and_nothing_without_a_cold_start():
    assert cold_chart([]) is None
    assert [bar.name for bar in cold_chart(cold_cases([BASE])).bars] == ["base"]


@pytest.mark.parametrize(("processes", "bounds"), [(6, (3.0, 3.0)), (3, (None, None))])
def test_few_processes_have_no_interval_and_a_note_says_so(processes, bounds):
    slow = cold("base", processes=processes, import_=1.0, first_call=2.0, later_call=2.0)
    chart = cold_chart(cold_cases([slow]))
    assert (chart.bars[0].low, chart.bars[0].high) == bounds
    assert any("needs ≥ 6 processes" in note for note in chart.notes) == (processes == 3)
