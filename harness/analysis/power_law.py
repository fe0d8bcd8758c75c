"""Power-law fit: the exponent of the length that a figure grows with."""

import math
import statistics
from collections.abc import Mapping

from harness.analysis.stats import student_t
from harness.core.median_interval import LEVEL
from harness.core.units import format_count

BEND = 0.5  # local exponents this far apart are no single power of the length


def fit(values: Mapping[int, float]) -> tuple[float, float | None, float | None]:
    """(exponent, low, high) of value ∝ length^exponent, by Student's t on the residuals.

    Two points give no interval; data exactly on a power give one of zero width. Rounded to 12
    decimals: finer than any data, coarser than the rounding errors of logarithms.
    """
    xs = [math.log2(seq) for seq in values]
    ys = [math.log2(value) for value in values.values()]
    slope, intercept = statistics.linear_regression(xs, ys)
    freedom = len(xs) - 2
    if freedom < 1:
        return _tidy(slope), None, None
    residuals = sum((y - intercept - slope * x) ** 2 for x, y in zip(xs, ys, strict=True))
    middle = statistics.fmean(xs)
    spread = sum((x - middle) ** 2 for x in xs)
    # The standard error of a slope is sqrt(SSR / (n − 2) / Sxx).
    half = student_t((1 + LEVEL) / 2, freedom) * math.sqrt(residuals / freedom / spread)
    return _tidy(slope), _tidy(slope - half), _tidy(slope + half)


def _tidy(exponent: float) -> float:
    return round(exponent, 12) + 0.0  # without the sign that rounding leaves on zero


def bends(values: Mapping[int, float]) -> tuple[str, ...]:
    """A note when the first and the last stretch grow by clearly different powers."""
    grid = list(values)
    if len(grid) < 3:
        return ()
    first, last = _local(values, grid[0], grid[1]), _local(values, grid[-2], grid[-1])
    if abs(first - last) <= BEND:
        return ()
    start = f"{first:.2f} over {format_count(grid[0])} to {format_count(grid[1])}"
    end = f"{last:.2f} over {format_count(grid[-2])} to {format_count(grid[-1])}"
    return (f"bends: exponent {start}, {end}",)


def _local(values: Mapping[int, float], short: int, long: int) -> float:
    return math.log(values[long] / values[short]) / math.log(long / short)
