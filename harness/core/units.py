"""Quantities as people write them ("128Ki", "18GiB", "4s") and as people read them ("1.42 ms")."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from fractions import Fraction

Amount = TypeVar("Amount", "Fraction | int", float)

_BINARY = {"": 1, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
# More digits than these are a mistake, and take long to compute with.
_QUANTITY = re.compile(
    r"\s*([0-9][0-9_]{0,400}(?:\.[0-9]{1,400})?(?:[eE][+-]?[0-9]{1,3})?)\s*([A-Za-z%]*)\s*"
)


def _split(text: object, example: str) -> tuple[Fraction | int, str]:
    """(number, unit) of a quantity; the number is exact."""
    match = _QUANTITY.fullmatch(str(text)) if not isinstance(text, bool) else None
    if match is None:
        raise ValueError(f'"{text}" is not a quantity; write it like {example}')
    digits = match[1].replace("_", "")
    if digits.isdecimal():  # nearly always
        return _refuse_huge(text, int(digits)), match[2]
    from fractions import Fraction  # loads in 4 ms

    return _refuse_huge(text, Fraction(digits)), match[2]


def _refuse_huge(text: object, amount: Amount) -> Amount:
    """The amount. ValueError where it is beyond what a float holds."""
    if amount > sys.float_info.max:
        raise ValueError(f'"{text}" is too large')
    return amount


def parse_count(text: object) -> int:
    """A whole number, with an optional binary prefix: `131072`, `131_072`, `128Ki`."""
    number, prefix = _split(text, "4096 or 128Ki")
    if prefix not in _BINARY:
        raise ValueError(f'unknown unit "{prefix}" in "{text}"; use none, Ki, Mi or Gi')
    count = _refuse_huge(text, number * _BINARY[prefix])
    if count.denominator != 1:
        raise ValueError(f'"{text}" is not a whole number')
    return int(count)


def parse_bytes(text: object) -> int:
    """An amount of memory in bytes: `18GiB`, `512MiB`, or plain bytes."""
    number, unit = _split(text, "18GiB")
    prefix = unit.removesuffix("B")
    if prefix not in _BINARY:
        raise ValueError(f'unknown unit "{unit}" in "{text}"; use B, KiB, MiB, GiB or TiB')
    return int(_refuse_huge(text, number * _BINARY[prefix]))


def parse_seconds(text: object) -> float:
    """A duration in seconds: `4s`, `250ms`, `2m`, or a plain number of seconds."""
    number, unit = _split(text, "4s or 250ms")
    if unit not in _SECONDS:
        raise ValueError(f'unknown unit "{unit}" in "{text}"; use us, ms, s, m or h')
    return _refuse_huge(text, float(number) * _SECONDS[unit])


def parse_share(text: object) -> float:
    """A share: `5%` or `0.05`, between 0 and 1."""
    number, unit = _split(text, "5%")
    if unit not in {"", "%"}:
        raise ValueError(f'unknown unit "{unit}" in "{text}"; use %')
    share = number / 100 if unit else number
    if not 0 < share <= 1:
        raise ValueError(f'"{text}" is not between 0 % and 100 %; write a share like 5% or 0.05')
    return float(share)


def _digits(value: float, digits: int) -> str:
    """`value` with so many significant digits, never in exponent form."""
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
    """`131072` → `128Ki`; numbers that no binary prefix divides stay as they are."""
    for prefix in ("Gi", "Mi", "Ki"):
        if count and count % _BINARY[prefix] == 0:
            return f"{count // _BINARY[prefix]}{prefix}"
    return str(count)


def format_big(value: float) -> str:
    """FLOPs and the like: `549755813888` → `5.50e11`, small whole numbers as they are."""
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
