"""Quantities as people write them ("128Ki", "18GiB", "4s") and as people read them ("1.42 ms")."""

import math
import re

MOST_DIGITS = 400  # what is larger is beyond a float, and what is finer is meant by nobody
_BINARY = {"": 1, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_DECIMAL = ("k", "K", "M", "G", "m", "g")  # a thousand to some, 1024 to others
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_QUANTITY = re.compile(r"\s*([0-9][0-9_]*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)\s*([A-Za-z%]*)\s*")


def _scaled(text: object, number: float, factor: float) -> float:
    """A number in its unit. ValueError where that is beyond what a float holds."""
    if math.isinf(number * factor):
        raise ValueError(f'"{text}" is too large')
    return number * factor


def _split(text: object, example: str) -> tuple[str, str]:
    """(digits, unit) of a quantity."""
    match = _QUANTITY.fullmatch(str(text)) if not isinstance(text, bool) else None
    if match is None:
        raise ValueError(f'"{text}" is not a quantity; write it like {example}')
    return match[1].replace("_", ""), match[2]


def _split_number(text: object, example: str) -> tuple[float, str]:
    digits, unit = _split(text, example)
    return _scaled(text, float(digits), 1.0), unit


def _multiple(text: object, digits: str, factor: int) -> tuple[int, bool]:
    """(the whole part of digits × factor, whether that is all of it), exact however many digits there are."""
    scaled = _scaled(text, float(digits), factor)
    mantissa, _, exponent = digits.lower().partition("e")
    whole, _, fraction = mantissa.partition(".")
    significant = (whole + fraction).lstrip("0")
    if len(significant) > MOST_DIGITS:
        raise ValueError(f'"{text}" has more than {MOST_DIGITS} digits')
    product = int(significant or "0") * factor
    if not scaled:  # or its exponent may be anything
        return 0, not product
    power = int(exponent or 0) - len(fraction)
    if power >= 0:
        return product * 10**power, True
    count, rest = divmod(product, 10**-power)
    return count, not rest


def parse_count(text: object) -> int:
    """A whole number, with an optional binary prefix: `131072`, `131_072`, `128Ki`."""
    digits, prefix = _split(text, "4096 or 128Ki")
    if prefix in _DECIMAL:
        binary = str(text).strip().removesuffix(prefix).strip() + f"{prefix.upper()}i"
        raise ValueError(f'"{text}" may mean either: write {binary} for {parse_count(binary)}, or the number')
    if prefix not in _BINARY:
        raise ValueError(f'unknown unit "{prefix}" in "{text}"; use none, Ki, Mi or Gi')
    count, exact = _multiple(text, digits, _BINARY[prefix])
    if not exact:
        raise ValueError(f'"{text}" is not a whole number')
    return count


def parse_bytes(text: object) -> int:
    """An amount of memory in bytes: `18GiB`, `512MiB`, or plain bytes."""
    digits, unit = _split(text, "18GiB")
    prefix = unit.removesuffix("B")
    if prefix not in _BINARY:
        raise ValueError(f'unknown unit "{unit}" in "{text}"; use B, KiB, MiB, GiB or TiB')
    return _multiple(text, digits, _BINARY[prefix])[0]


def parse_seconds(text: object) -> float:
    """A duration in seconds: `4s`, `250ms`, `2m`, or a plain number of seconds."""
    number, unit = _split_number(text, "4s or 250ms")
    if unit not in _SECONDS and unit:
        raise ValueError(f'unknown unit "{unit}" in "{text}"; use us, ms, s, m or h')
    return _scaled(text, number, _SECONDS.get(unit, 1.0))


def parse_share(text: object) -> float:
    """A share: `5%` or `0.05`, between 0 and 1."""
    number, unit = _split_number(text, "5%")
    if unit not in {"", "%"}:
        raise ValueError(f'unknown unit "{unit}" in "{text}"; use %')
    share = number / 100 if unit else number
    if not 0 < share <= 1:
        raise ValueError(f'"{text}" is not between 0 % and 100 %; write a share like 5% or 0.05')
    return share


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
