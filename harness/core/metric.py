"""The measured and computed figures, each with its unit.

Tables, charts and verdicts ask the metric instead of knowing, so that they agree.
"""

from collections.abc import Callable
from dataclasses import dataclass

from harness.core.units import format_big, format_bytes, format_seconds


@dataclass(frozen=True)
class Metric:
    """A figure of a record. `exact` figures vary with the program only, never with the clock."""

    name: str
    label: str
    unit: str
    format: Callable[[float], str]
    exact: bool = True


TIME = Metric("time", "time per call", "s", format_seconds, exact=False)
TEMP_BYTES = Metric("temp_bytes", "temporaries", "B", format_bytes)
PEAK_BYTES = Metric("peak_bytes", "planned peak", "B", format_bytes)
FLOPS = Metric("flops", "FLOPs", "FLOP", format_big)
HIGH_WATER_BYTES = Metric("high_water_bytes", "resident high water", "B", format_bytes, exact=False)
