import math

import pytest

from harness.report.charts.drawing.scales import (
    BYTES,
    RATIO,
    TIME,
    binary_ticks,
    decimal_ticks,
    floor_of,
    length_limits,
    linear_ticks,
    thin_labels,
)
from harness.report.charts.model import Point, stretches
from harness.report.format import trim_zeros

SHORT = {"5.00 µs": "5 µs", "0.500×": "0.5×", "1.20 ms": "1.2 ms", "0.0625×": "0.0625×", "1.00 GiB": "1 GiB"}


@pytest.mark.parametrize(("text", "short"), [*SHORT.items(), ("100 ms", "100 ms")])
def test_zeros_behind_the_point_go(text, short):
    assert trim_zeros(text) == short


def test_times_are_ticked_at_1_2_5_then_at_decades_and_read_with_units():
    assert list(TIME.labels(9e-6, 110e-6).values()) == ["10 µs", "20 µs", "50 µs", "100 µs"]
    assert list(TIME.labels(1e-6, 1.0).values()) == [
        "1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s",
    ]  # fmt: skip


def test_bytes_are_ticked_at_powers_of_two():
    assert list(BYTES.labels(2**20, 2**23).values()) == ["1 MiB", "2 MiB", "4 MiB", "8 MiB"]
    wide = ["1 KiB", "32 KiB", "1 MiB", "32 MiB", "1 GiB", "32 GiB", "1 TiB"]
    assert list(BYTES.labels(2**9, 2**41).values()) == wide


@pytest.mark.parametrize("limits", [(0.9, 1.12), (0.2, 9.0), (0.03, 90.0), (0.001, 3.0), (1e-4, 1e5)])
def test_a_ratio_axis_always_has_1x(limits):
    assert "1×" in RATIO.labels(*limits).values()


def test_thousandfold_ratios_are_ticked_at_decades_in_plain_digits():
    assert list(RATIO.labels(0.4, 20000).values()) == ["1×", "10×", "100×", "1000×", "10000×"]
    assert list(RATIO.labels(0.4, 500).values()) == ["1×", "4×", "16×", "64×", "256×"]


@pytest.mark.parametrize("ticks", [decimal_ticks, binary_ticks])
@pytest.mark.parametrize("span", [1.001, 1.5, 3, 20, 1e3, 1e6, 1e15])
def test_ticks_are_few_and_inside(ticks, span):
    found = ticks(3.3, 3.3 * span)
    assert len(found) <= 8
    assert all(3.3 <= tick <= 3.3 * span for tick in found)


def test_equal_steps_where_the_span_is_narrow():
    assert linear_ticks(0.95, 1.21, most=4) == [1.0, 1.1, 1.2]


@pytest.mark.parametrize("values", [[], [1e-3], [1e-3, 1e-3], [1e-6, 3.0]])
def test_limits_hold_all_values_with_room(values):
    low, high = TIME.limits(values)
    assert 0 < low < high < math.inf
    assert high / low >= 4
    assert all(low < value < high for value in values)


def test_ratio_limits_hold_1x_even_when_all_is_faster():
    low, high = RATIO.limits([5.0, 8.0])
    assert low < 1
    assert high > 8


def test_zero_bytes_have_a_floor_below_everything_else():
    assert floor_of([2**20, 2**30]) is None
    assert floor_of([0, 2**20, 2**30]) == 2**18
    assert floor_of([0, 0]) == 2**10


def test_a_single_length_has_room_on_both_sides():
    low, high = length_limits([4096])
    assert low < 4096 < high
    assert math.isclose(4096 / low, high / 4096)


def test_thinning_keeps_the_longest():
    assert thin_labels([1, 2, 3, 100], 1.9) == {1, 3, 100}


def test_no_line_bridges_a_length_without_a_point():
    points = [Point(seq, 1.0) for seq in (1, 2, 8)]
    runs = stretches(points, (1, 2, 4, 8))
    assert [[point.seq for point in run] for run in runs] == [[1, 2], [8]]
