"""Parsing of written quantities ("128Ki", "18GiB", "4s"), and formatting of figures ("1.42 ms")."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fractions import Fraction

_BINARY = {"": 1, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_BYTES = {**_BINARY, **{f"{prefix}B": size for prefix, size in _BINARY.items()}}
_SECONDS = {"us": "1e-6", "ms": "1e-3", "s": 1, "": 1, "m": 60, "min": 60, "h": 3600}
_SHARES = {"": 1, "%": "1e-2"}
# More digits are a mistake, and slow to compute with.
_QUANTITY = re.compile(
    r"\s*([0-9][0-9_]{0,400}(?:\.[0-9]{1,400})?(?:[eE][+-]?[0-9]{1,3})?)\s*([A-Za-z%]*)\s*"
)


def _quantity(text: object, units: Mapping[str, int | str], example: str) -> Fraction:
    """The exact number of a text with a unit. ValueError if it is too large for a float."""
    from fractions import Fraction  # takes 4 ms

    match = _QUANTITY.fullmatch(str(text)) if not isinstance(text, bool) else None
    if match is None or match[2] not in units:
        raise ValueError(f'"{text}" is not a quantity; write for example {example}')
    amount = Fraction(match[1].replace("_", "")) * Fraction(units[match[2]])
    if amount > sys.float_info.max:
        raise ValueError(f'"{text}" is too large')
    return amount


def parse_count(text: object) -> int:
    """A whole number, with an optional binary prefix: `131072`, `131_072`, `128Ki`."""
    count = _quantity(text, _BINARY, "4096 or 128Ki")
    if count.denominator != 1:
        raise ValueError(f'"{text}" is not a whole number')
    return int(count)


def parse_bytes(text: object) -> int:
    """An amount of memory in bytes: `18GiB`, `512MiB`, or plain bytes."""
    return int(_quantity(text, _BYTES, "18GiB"))


def parse_seconds(text: object) -> float:
    """A duration in seconds: `4s`, `250ms`, `2m`, or a plain number of seconds."""
    return float(_quantity(text, _SECONDS, "4s or 250ms"))


def parse_share(text: object) -> float:
    """A share: `5%` or `0.05`, between 0 and 1."""
    share = _quantity(text, _SHARES, "5%")
    if not 0 < share <= 1:
        raise ValueError(f'"{text}" is not between 0 % and 100 %; write a share like 5% or 0.05')
    return float(share)


def _digits(value: float, digits: int) -> str:
    """`value` with `digits` significant digits, never in exponent form."""
    if not value:
        return "0"
    exponent = int(f"{value:.{digits - 1}e}".partition("e")[2])  # of the rounded value: 9.999 is 10.0
    return f"{value:.{max(0, digits - 1 - exponent)}f}"


def format_seconds(seconds: float, digits: int = 3) -> str:
    """`0.00142` → `1.42 ms`."""
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if abs(seconds) >= scale * 0.9995:
            return f"{_digits(seconds / scale, digits)} {unit}"
    return f"{_digits(seconds / 1e-9, digits)} ns" if seconds else "0 s"


def format_bytes(count: float, digits: int = 3) -> str:
    """`283467841536` → `264 GiB`."""
    for power, unit in ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if abs(count) >= power * 0.9995:
            return f"{_digits(count / power, digits)} {unit}"
    return f"{count:.0f} B"


def format_count(count: int) -> str:
    """`131072` → `128Ki`; numbers that are not multiples of 1024 are unchanged."""
    for prefix in ("Gi", "Mi", "Ki"):
        if count and count % _BINARY[prefix] == 0:
            return f"{count // _BINARY[prefix]}{prefix}"
    return str(count)


def format_big(value: float) -> str:
    """FLOPs and similar figures: `549755813888` → `5.50e11`; small whole numbers are unchanged."""
    if abs(value) < 10_000:
        return f"{value:.0f}"
    mantissa, exponent = f"{value:.2e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def format_ratio(ratio: float) -> str:
    """`2.304` → `2.30×`."""
    return f"{_digits(ratio, 3)}×" if ratio < 10_000 else f"{format_big(ratio)}×"


@dataclass(frozen=True)
class Metric:
    """A figure's name, and the function that formats it."""

    label: str
    format: Callable[[float], str]


TEMP_BYTES = Metric("temporaries", format_bytes)
PEAK_BYTES = Metric("planned peak", format_bytes)
FLOPS = Metric("FLOPs", format_big)
HIGH_WATER_BYTES = Metric("resident high water", format_bytes)
