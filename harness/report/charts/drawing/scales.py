"""Axis limits and ticks at round values: 1Ki, 4Ki · 10 µs, 1 ms · 64 MiB · 0.5×, 1×."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from harness.core.units import format_bytes, format_ratio, format_seconds
from harness.report.format import trim_zeros

MOST = 8  # ticks on a vertical axis
NARROW = 2.5  # an axis with a smaller ratio of its limits has ticks in equal steps


@dataclass(frozen=True)
class Scale:
    """A figure's logarithmic axis: format, ticks, anchor, and `least`, the smallest ratio of its limits."""

    format: Callable[[float], str]
    ticks: Callable[[float, float], list[float]]
    least: float
    anchor: float | None = None

    def limits(self, values: Iterable[float]) -> tuple[float, float]:
        """The limits of the values (and the anchor), with a tenth of the span on both sides."""
        positive = [value for value in values if value > 0]
        reach = [*positive, self.anchor] if self.anchor else positive
        low, high = min(reach, default=1.0), max(reach, default=1.0)
        span = max(math.log(high / low), math.log(self.least))
        middle = (math.log(low) + math.log(high)) / 2
        return math.exp(middle - 0.6 * span), math.exp(middle + 0.6 * span)

    def labels(self, low: float, high: float) -> dict[float, str]:
        return {tick: trim_zeros(self.format(tick)) for tick in self.ticks(low, high)}


def linear_ticks(low: float, high: float, most: int = MOST) -> list[float]:
    """Ticks at multiples of 1, 2 or 5 times a power of ten, at most `most` of them."""
    exponent = math.floor(math.log10(high - low)) - 1
    while True:
        for lead in (1, 2, 5):
            step = float(f"{lead}e{exponent}")
            first, last = math.ceil(low / step), math.floor(high / step)
            if last - first < most:
                return [float(f"{count * lead}e{exponent}") for count in range(first, last + 1)]
        exponent += 1


def decimal_ticks(low: float, high: float) -> list[float]:
    """Ticks at 1, 2, 5 of every decade, or at powers of ten, or at every second, third … power of ten."""
    if high / low < NARROW:
        return linear_ticks(low, high)
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [float(f"{lead}e{k}") for k in decades for lead in (1, 2, 5)]
    inside = [tick for tick in ticks if low <= tick <= high]
    every = 1
    while len(inside) > MOST:
        powers = [float(f"1e{k}") for k in decades if k % every == 0]
        inside = [tick for tick in powers if low <= tick <= high]
        every += 1
    return inside


def binary_ticks(low: float, high: float) -> list[float]:
    """Ticks at powers of two, all or every second, fifth, tenth …; in equal steps on a narrow axis."""
    if high / low < NARROW:
        unit = 1024.0 ** math.floor(math.log(low, 1024)) if low >= 1024 else 1.0
        return [tick * unit for tick in linear_ticks(low / unit, high / unit)]
    powers = range(math.ceil(math.log2(low)), math.floor(math.log2(high)) + 1)
    steps = (step for step in (1, 2, 5, 10, 20, 50, 100) if len(powers) <= step * MOST)
    every = next(steps, 200)
    return [2.0**k for k in powers if k % every == 0]


def ratio_ticks(low: float, high: float) -> list[float]:
    """Ticks at powers of two or four around 1×; decades if those are too many or have many digits."""
    binary = NARROW <= high / low <= 4**MOST and low > 1 / 64 and high < 1024
    return binary_ticks(low, high) if binary else decimal_ticks(low, high)


def _format_tick(ratio: float) -> str:
    return f"{ratio:.0f}×" if ratio >= 1000 else format_ratio(ratio)


TIME = Scale(format_seconds, decimal_ticks, least=4.0)
BYTES = Scale(format_bytes, binary_ticks, least=16.0)
RATIO = Scale(_format_tick, ratio_ticks, least=1.5, anchor=1.0)


def floor_of(values: Iterable[float]) -> float | None:
    """The place of 0 on a logarithmic axis of bytes, well below all other values; None if no value is 0."""
    known = list(values)
    if all(known):
        return None
    return 2.0 ** (math.floor(math.log2(min(filter(None, known), default=4096.0))) - 2)


def length_limits(lengths: Iterable[int]) -> tuple[float, float]:
    """Axis limits: half an octave on both sides of a single length, else a share of the span."""
    grid = list(lengths)
    span = math.log2(max(grid) / min(grid))
    room = 2 ** min(max(span / 12, 0.15), 0.5) if span else 2**0.5
    return min(grid) / room, max(grid) * room


def thin_labels(lengths: list[int], factor: float) -> set[int]:
    """The lengths with room for a label: the longest, and others that differ by more than `factor`."""
    labelled: list[int] = []
    for seq in reversed(lengths):
        if not labelled or labelled[-1] / seq > factor:
            labelled.append(seq)
    return set(labelled)
