"""The figures that compilers plan and calls need, each with its name and the way it is written.

Tables and charts ask the metric instead of knowing, so that they agree.
"""

from collections.abc import Callable
from dataclasses import dataclass

from harness.core.units import format_big, format_bytes


@dataclass(frozen=True)
class Metric:
    """A figure's name, and the function that formats it."""

    label: str
    format: Callable[[float], str]


TEMP_BYTES = Metric("temporaries", format_bytes)
PEAK_BYTES = Metric("planned peak", format_bytes)
FLOPS = Metric("FLOPs", format_big)
HIGH_WATER_BYTES = Metric("resident high water", format_bytes)
