"""Numbers as they are printed: the interval decides the digits."""

import pytest

from harness.core.units import TEMP_BYTES
from harness.report import format as fmt

TEXTS = [
    (fmt.seconds, (0.00142, 0.00140, 0.00145), ("1.42 ms", "[1.40, 1.45]")),
    (fmt.seconds, (0.00142, 0.0011, 0.0017), ("1.4 ms", "[1.1, 1.7]")),
    (fmt.seconds, (0.00142, 0.001420, 0.0014201), ("1.420 ms", "[1.420, 1.420]")),
    (fmt.seconds, (0.00142, None, None), ("1.4 ms", "–")),
    (fmt.seconds, (0.0009, 0.0008, 0.0011), ("900 µs", "[800, 1100]")),
    (fmt.digits, (100.0, 98.2, 101.8), 4),
    (fmt.digits, (100.0, 96.0, 104.0), 3),
    (fmt.speedup, (2.314, 2.25, 2.38), "2.31× [2.25, 2.38]"),
    (fmt.speedup, (2.314, None, None), "2.3×"),
    (fmt.speedup, (2.314, 0.6, 4.9), "≈2× [0.60, 4.9]"),
    (fmt.speedup, (2.314, 0.7, 5.5), "2.3× [0.7, 5.5]"),
    (fmt.speedup, (0.0456, 0.04, 0.05), "0.046× [0.040, 0.050]"),
    (fmt.exponent, (1.0, 1.0, 1.0), "1.00"),
    (fmt.exponent, (0.98, 0.95, 1.01), "0.98 [0.95, 1.01]"),
    (fmt.exact_figure, (None, TEMP_BYTES), "–"),
    (fmt.exact_figure, (0, TEMP_BYTES), "0 B"),
    (fmt.ratio, (0.25,), "0.250×"),
    (fmt.ratio, (0.0,), "0×"),
    (fmt.ratio, (8.31e-6,), "8.3e-6×"),
    (fmt.duration, (0.84,), "0.8 s"),
    (fmt.duration, (59.7,), "1 m 0 s"),
    (fmt.duration, (3780.0,), "1 h 3 m"),
    (fmt.saved_time, (0.153, 0.151, 0.155), "153 ms [151, 155]"),
    (fmt.saved_time, (-0.012, -0.013, -0.011), "−12.0 ms [−13.0, −11.0]"),
]


@pytest.mark.parametrize(("write", "given", "text"), TEXTS)
def test_numbers_as_text(write, given, text):
    assert write(*given) == text
