"""Numbers as text, with as many digits as the data support."""

import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from harness.analysis.roofline import RoofShare
from harness.analysis.stats import Estimate
from harness.core.record import GpuReading
from harness.core.units import Metric, format_bytes, format_ratio, format_seconds
from harness.core.workload import Value

ABSENT = "–"
VAGUE = 8  # the least ratio of a vague interval's ends
PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))  # of units, largest first
_SECONDS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}


def digits(value: float, low: float | None, high: float | None) -> int:
    """The significant digits of a value, 2 to 4: up to the first digit of the interval's half-width.

    A half-width that starts with 1 gives one digit more. A value without an interval has two.
    """
    if low is None or high is None:
        return 2
    half = (high - low) / 2
    if half <= 0:
        return 4
    return max(2, min(4, 1 + math.floor(math.log10(abs(value))) - math.floor(math.log10(half / 2))))


@lru_cache(4)  # called for the column of the time and for that of its interval
def seconds(value: float, low: float | None, high: float | None) -> tuple[str, str]:
    """The time and its interval in the time's unit: (`1.42 ms`, `[1.40, 1.45]`)."""
    text = format_seconds(value, digits(value, low, high))
    number, unit = text.split(" ")
    return text, _bounds(low, high, _decimals(number), _SECONDS[unit]) or ABSENT


def saved_time(value: float, low: float | None, high: float | None) -> str:
    """`153 ms [151, 155]`: seconds saved; negative where it takes longer."""
    text = format_seconds(abs(value), digits(abs(value), low, high))
    number, unit = text.split(" ")
    bounds = _bounds(low, high, _decimals(number), _SECONDS[unit]).replace("-", "−")
    return ("−" if value < 0 else "") + f"{text} {bounds}".rstrip()


def speedup(value: float, low: float | None, high: float | None) -> str:
    """`2.31× [2.25, 2.38]`, `2.3×` without an interval, `≈3× [0.60, 9.0]` if the interval is vague."""
    return " ".join(speedup_and_interval(value, low, high)).rstrip()


def speedup_and_interval(value: float, low: float | None, high: float | None) -> tuple[str, str]:
    """(`2.31×`, `[2.25, 2.38]`); without an interval the second is empty."""
    if low is not None and high is not None and is_vague(low, high):
        return vague_ratio(value), f"[{significant(low, 2)}, {significant(high, 2)}]"
    number = significant(value, digits(value, low, high))
    return f"{number}×", _bounds(low, high, _decimals(number))


def is_vague(low: float, high: float) -> bool:
    """Whether a ratio's interval is so wide that even its first digit is uncertain."""
    return high >= VAGUE * low


def vague_ratio(value: float) -> str:
    return f"≈{significant(value, 1)}×"


def in_units(value: Estimate, scale: float) -> str:
    """A number in units of `scale`, without the unit: `119.3`, `0.62`."""
    number, low, high, *_ = value
    return ABSENT if number is None else significant(number / scale, digits(number, low, high))


def per_second(value: float, low: float | None, high: float | None, unit: str) -> tuple[str, str]:
    """A rate and its interval in the rate's unit: (`116 GFLOP/s`, `[110, 118]`)."""
    scale, prefix = next((entry for entry in PREFIXES if value >= entry[0]), (1.0, ""))
    number = significant(value / scale, digits(value, low, high))
    return f"{number} {prefix}{unit}", _bounds(low, high, _decimals(number), scale) or ABSENT


def roof(found: RoofShare) -> str:
    """`71 % of compute`, `34 % of DRAM`."""
    return ABSENT if found.share.value is None else f"{in_units(found.share, 0.01)} % of {found.roof}"


def percent(share: float) -> str:
    """`2.0 %`, `63 %`, `104 %`."""
    return f"{significant(100 * share, 2 + (share >= 1))} %"


def exponent(value: float, low: float | None, high: float | None) -> str:
    """`0.98 [0.95, 1.01]`, without an interval that is empty at two decimals."""
    text = f"{value:.2f}"
    if low is None or high is None or {f"{low:.2f}", f"{high:.2f}"} == {text}:
        return text
    return f"{text} {_bounds(low, high, 2)}"


def ratio(value: float) -> str:
    """`0.250×`, `8.3e-6×`."""
    return format_ratio(value) if value >= 0.001 or not value else f"{value:.1e}×".replace("e-0", "e-")


def exact_figure(value: float | None, metric: Metric) -> str:
    """A compiler figure; a missing one is a dash, not 0."""
    return ABSENT if value is None else metric.format(value)


def trim_zeros(text: str) -> str:
    """`5.00 µs` → `5 µs`, `0.500×` → `0.5×`."""
    return re.sub(r"\.0+(?!\d)|(?<=\.)(\d*?[1-9])0+(?!\d)", lambda m: m[1] or "", text)


def short_bytes(count: float | None) -> str:
    """`4 MiB`, `1.05 KiB`, or a dash if unknown."""
    return ABSENT if count is None else trim_zeros(format_bytes(count))


def short_label(label: str) -> str:
    """A label without its family, which the suite's title has."""
    return label.split("/", 1)[-1]


def status_words(status: str) -> str:
    return {"oom": "out of memory", "timeout": "timed out"}.get(status, status)


def minute(started: str) -> str:
    """An ISO 8601 time as `2026-11-22 17:03`."""
    return started[:16].replace("T", " ")


def duration(wait_s: float) -> str:
    """A duration in seconds as text: `0.8 s`, `42 s`, `4 m 12 s`, `1 h 3 m`."""
    if wait_s < 9.95:
        return f"{wait_s:.1f} s"
    whole = round(wait_s)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} m {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} m"


def figures(numbers: Mapping[str, Value]) -> str:
    """`mismatches 12, relative rms 0.01`: the known figures behind a verdict."""
    shown = {name.replace("_", " "): value for name, value in numbers.items() if value is not None}
    texts = (f"{name} {f'{v:.4g}' if isinstance(v, float) else v}" for name, v in shown.items())
    return ", ".join(texts) or "no figures"


def first_few(sentences: Sequence[str], most: int) -> list[str]:
    """The first `most` sentences, and the number of others."""
    more = len(sentences) - most
    return [*sentences[:most], *([f"and {more} more; --json has them"] if more > 0 else [])]


def significant(value: float, count: int) -> str:
    """The value rounded to `count` significant digits, in full: 4164 → `4200`."""
    decimals = max(0, count - 1 - math.floor(math.log10(value))) if value else 0
    return f"{float(f'{value:.{count - 1}e}'):.{decimals}f}"


def _decimals(number: str) -> int:
    return len(number.partition(".")[2])


def _bounds(low: float | None, high: float | None, decimals: int, scale: float = 1.0) -> str:
    """`[1.40, 1.45]` in units of `scale`, or empty without an interval."""
    if low is None or high is None:
        return ""
    return f"[{low / scale:.{decimals}f}, {high / scale:.{decimals}f}]"


def gpu_state(readings: Sequence[GpuReading]) -> str:
    """`GPU during sampling: SM 1755 to 1980 MHz, 41 to 63 °C, 12 readings`; empty without a reading."""
    if not readings:
        return ""
    fields = {"SM {} MHz": "sm_mhz", "memory {} MHz": "memory_mhz", "{} °C": "celsius", "{} W": "watts"}
    texts: list[str] = []
    for unit, name in fields.items():
        known = [round(value) for reading in readings if (value := getattr(reading, name)) is not None]
        if known:
            low, high = min(known), max(known)
            texts.append(unit.format(low if low == high else f"{low} to {high}"))
    count = f"{len(readings)} reading{'s' if len(readings) > 1 else ''}"
    return f"GPU during sampling: {', '.join([*texts, count])}" if texts else ""
