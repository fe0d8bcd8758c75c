"""The figures of a program that are exact, so that any difference is a change, and less is better."""

import math
from collections.abc import Callable
from typing import Any

from harness.core.units import format_big, format_bytes, format_ratio

WORDS = {
    "flops": "FLOPs",
    "bytes_accessed": "bytes accessed",
    "temp_bytes": "temp",
    "argument_bytes": "arguments",
    "output_bytes": "outputs",
    "generated_code_bytes": "generated code",
}
EXACT_FIGURES = tuple(WORDS)
WHOLE = 1 << 63  # what JSON's readers hold as a whole number


def known(value: float | None) -> float | None:
    """The figure, or None for whatever stands for unavailable: −1 and no number are no figures."""
    return value if value is not None and math.isfinite(value) and value >= 0 else None


def change(figure: str, old: float | None, new: float | None) -> str:
    """`temp 4.00 MiB -> 8.00 MiB (2.00×)`; every digit where fewer would show no difference."""
    left, right = _format_figure(figure, old), _format_figure(figure, new)
    if old is None or new is None or left != right:
        ratio = f" ({format_ratio(new / old)})" if old and new is not None else ""
        return f"{WORDS[figure]} {left} -> {right}{ratio}"
    unit = "" if figure == "flops" else " B"
    return f"{WORDS[figure]} {old:.0f}{unit} -> {new:.0f}{unit} ({new - old:+.0f}{unit})"


def _format_figure(figure: str, value: float | None) -> str:
    if value is None:
        return "unavailable"
    return format_big(value) if figure == "flops" else format_bytes(value)


def plain(value: Any) -> Any:
    """A figure as JSON can hold it: numpy's as Python's, what is not finite as its name."""
    number: Callable[[], Any] | None = getattr(value, "item", None)
    value = number() if number else value
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, int) and abs(value) >= WHOLE:
        return float(value)
    return value.encode(errors="replace").decode() if isinstance(value, str) else value
