import pytest

from harness.report.charts.drawing.labels import spread


def test_names_that_have_room_stay_where_their_lines_end():
    assert spread([0.8, 0.2, 0.5], [0.1] * 3) == [0.8, 0.2, 0.5]


def test_names_that_would_touch_move_apart_in_their_order():
    low, high, middle = spread([0.5, 0.5, 0.5], [0.1, 0.1, 0.2])
    assert (low, high, middle) == pytest.approx((0.5, 0.6, 0.75))


def test_names_at_the_top_move_down():
    assert spread([0.99, 0.98], [0.1, 0.1]) == pytest.approx([0.95, 0.85])
