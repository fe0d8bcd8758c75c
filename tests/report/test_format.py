"""Numbers as they are printed: the interval decides the digits."""

import pytest

from harness.core.units import TEMP_BYTES
from harness.report import format as fmt


@pytest.mark.parametrize(
    ("value", "low", "high", "expected"),
    [
        (0.00142, 0.00140, 0.00145, ("1.42 ms", "[1.40, 1.45]")),
        (0.00142, 0.0011, 0.0017, ("1.4 ms", "[1.1, 1.7]")),
        (0.00142, 0.001420, 0.0014201, ("1.420 ms", "[1.420, 1.420]")),
        (0.5, 0.5, 0.5, ("500.0 ms", "[500.0, 500.0]")),
        (0.00142, None, None, ("1.4 ms", "–")),
        (0.0009, 0.0008, 0.0011, ("900 µs", "[800, 1100]")),
    ],
)
def test_the_interval_decides_the_digits(value, low, high, expected):
    assert fmt.seconds(value, low, high) == expected


def test_a_half_width_that_begins_with_one_has_a_digit_more():
    assert fmt.digits(100.0, 98.2, 101.8) == 4
    assert fmt.digits(100.0, 96.0, 104.0) == 3


def test_a_speedup_shows_its_interval_where_it_has_one():
    assert fmt.speedup(2.314, 2.25, 2.38) == "2.31× [2.25, 2.38]"
    assert fmt.speedup(2.314, None, None) == "2.3×"


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0.6, 4.9, "≈2× [0.60, 4.9]"), (0.7, 5.5, "2.3× [0.7, 5.5]"), (1.0, 30.0, "≈2× [1.0, 30]")],
)
def test_a_speedup_whose_interval_spans_a_factor_of_eight_has_one_digit(low, high, expected):
    assert fmt.speedup(2.314, low, high) == expected
    assert fmt.speedup(0.0456, 0.04, 0.05) == "0.046× [0.040, 0.050]"


def test_an_exponent_without_spread_stands_alone():
    assert fmt.exponent(1.0, 1.0, 1.0) == "1.00"
    assert fmt.exponent(0.98, 0.95, 1.01) == "0.98 [0.95, 1.01]"
    assert fmt.exponent(2.0, None, None) == "2.00"


def test_a_missing_figure_is_a_dash_and_zero_is_zero():
    assert fmt.exact_figure(None, TEMP_BYTES) == "–"
    assert fmt.exact_figure(0, TEMP_BYTES) == "0 B"


@pytest.mark.parametrize(
    ("value", "text"), [(0.25, "0.250×"), (0.0, "0×"), (8.31e-6, "8.3e-6×"), (31.5, "31.5×")]
)
def test_ratios(value, text):
    assert fmt.ratio(value) == text


TIMES = {0.84: "0.8 s", 42.4: "42 s", 59.7: "1 m 0 s", 252.0: "4 m 12 s", 3780.0: "1 h 3 m"}


@pytest.mark.parametrize(("seconds", "text"), TIMES.items())
def test_durations(seconds, text):
    assert fmt.duration(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        ((0.153, 0.151, 0.155), "153 ms [151, 155]"),
        ((-0.012, -0.013, -0.011), "−12.0 ms [−13.0, −11.0]"),
        ((0.012, None, None), "12 ms"),
    ],
)
def test_a_saving_is_written_with_its_sign(seconds, text):
    assert fmt.saved_time(*seconds) == text
