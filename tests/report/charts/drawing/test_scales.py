"""Ticks, limits and floors of axes."""

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
    thin_labels,
)
from harness.report.charts.model import Point, stretches


@pytest.mark.parametrize(
    ("scale", "limits", "texts"),
    [
        (TIME, (9e-6, 110e-6), "10 µs, 20 µs, 50 µs, 100 µs"),
        (TIME, (1e-6, 1.0), "1 µs, 10 µs, 100 µs, 1 ms, 10 ms, 100 ms, 1 s"),
        (BYTES, (2**20, 2**23), "1 MiB, 2 MiB, 4 MiB, 8 MiB"),
        (BYTES, (2**9, 2**41), "1 KiB, 32 KiB, 1 MiB, 32 MiB, 1 GiB, 32 GiB, 1 TiB"),
        (RATIO, (0.4, 20000), "1×, 10×, 100×, 1000×, 10000×"),
        (RATIO, (0.4, 500), "1×, 4×, 16×, 64×, 256×"),
        (RATIO, (0.9, 1.12), "0.9×, 0.95×, 1×, 1.05×, 1.1×"),
    ],
)
def test_ticks_are_at_round_values(scale, limits, texts):
    assert ", ".join(scale.labels(*limits).values()) == texts


@pytest.mark.parametrize("ticks", [decimal_ticks, binary_ticks])
@pytest.mark.parametrize("span", [1.001, 1.5, 3, 20, 1e3, 1e6, 1e15])
def test_ticks_are_few_and_inside(ticks, span):
    found = ticks(3.3, 3.3 * span)
    assert len(found) <= 8
    assert all(3.3 <= tick <= 3.3 * span for tick in found)


def test_limits_contain_all_values_with_a_margin():
    low, high = TIME.limits([1e-3])
    assert low < 1e-3 < high
    assert high / low >= 4
    low, high = RATIO.limits([5.0, 8.0])
    assert low < 1
    assert high > 8
    low, high = length_limits([4096])
    assert math.isclose(4096 / low, high / 4096)


def test_zero_bytes_have_a_floor_below_everything_else():
    assert floor_of([2**20, 2**30]) is None
    assert floor_of([0, 2**20, 2**30]) == 2**18
    assert floor_of([0, 0]) == 2**10


def test_thinning_keeps_the_longest():
    assert thin_labels([1, 2, 3, 100], 1.9) == {1, 3, 100}


def test_no_line_bridges_a_length_without_a_point():
    runs = stretches([Point(seq, 1.0) for seq in (1, 2, 8)], (1, 2, 4, 8))
    assert [[point.seq for point in run] for run in runs] == [[1, 2], [8]]
