"""Estimates as a profile prints and stores them."""

from typing import Any

from harness.analysis.stats import Estimate


def bounds(estimate: Estimate) -> tuple[float, float | None, float | None]:
    """The value, with 0 for none, and its interval."""
    return estimate.value or 0.0, estimate.low, estimate.high


def estimate_data(estimate: Estimate, unit: str = "") -> dict[str, Any]:
    """An estimate as plain data, its unit in the names."""
    suffix = f"_{unit}" if unit else ""
    return {
        f"value{suffix}": estimate.value,
        f"low{suffix}": estimate.low,
        f"high{suffix}": estimate.high,
        estimate.unit or "rounds": estimate.samples,
        "reason": estimate.reason,
    }
