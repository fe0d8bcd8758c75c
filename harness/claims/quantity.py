"""Numbers with their arithmetic: `number(7.61) / 1.73` is 4.399 with the text `7.61 / 1.73`."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from harness.catalog.accelerators import HOST
from harness.core.units import parse_count

Value = int | float | bool | str
Origin = tuple[str, str]  # (origin of a value, target that it was compiled for or run on)

Ki, Mi, Gi = 2**10, 2**20, 2**30
VARIES = "≈\u202f"  # marks a number from the host's compiler, which may differ on another processor
GIVEN: Origin = ("", "")  # from the claim's shape or table
TABLE: Origin = ("the published table", "")
LARGE = 1e6  # larger round floats are written with an exponent
SUM, PRODUCT, SIGN, POWER, CALL, ATOM = range(6)  # precedence of the operators in a text
_PRINTED = re.compile(r"(-?\d[\d_]*(?:\.\d+)?)(Ki|Mi|Gi|Ti)?")


class Missing(Exception):  # noqa: N818 - a missing value is not an error
    """Reason for a missing value; `incomplete`: another machine, or a later try, may give it."""

    def __init__(self, reason: str, *, incomplete: bool = False) -> None:
        super().__init__(reason)
        self.incomplete = incomplete


def _operation(sign: str, apply: Callable[[Any, Any], Any], binds: int) -> tuple[Any, Any]:
    """(operator, reflected operator)."""

    def joined(left: Any, right: Any) -> Quantity:
        low, high = (CALL, SIGN) if binds == POWER else (binds, binds + 1)  # powers are right-associative
        text = f"{number(left).inside(low)}{sign}{number(right).inside(high)}"
        return computed(text, binds, apply, left, right)

    return joined, lambda right, left: joined(left, right)


def _comparison(apply: Callable[[Any, Any], Any]) -> Any:
    return lambda left, right: computed("", ATOM, apply, left, right)


@dataclass(frozen=True, eq=False)
class Quantity:
    """A value with its arithmetic and its origins, or the reason why it is missing.

    It has no truth value, because a claim's function also runs before values are known.
    """

    value: Any
    text: str = ""
    binds: int = ATOM
    origins: tuple[Origin, ...] = ()
    missing: Missing | None = None

    __add__, __radd__ = _operation(" + ", operator.add, SUM)
    __sub__, __rsub__ = _operation(" - ", operator.sub, SUM)
    __mul__, __rmul__ = _operation(" · ", operator.mul, PRODUCT)
    __truediv__, __rtruediv__ = _operation(" / ", operator.truediv, PRODUCT)
    __pow__, __rpow__ = _operation("^", operator.pow, POWER)
    __lt__, __le__ = _comparison(operator.lt), _comparison(operator.le)
    __gt__, __ge__ = _comparison(operator.gt), _comparison(operator.ge)
    __eq__, __ne__ = _comparison(operator.eq), _comparison(operator.ne)
    __hash__: Any = None

    def __neg__(self) -> Quantity:
        return computed(f"-{self.inside(SIGN)}", SIGN, operator.neg, self)

    def __abs__(self) -> Quantity:
        return _called("abs", abs, self)

    def __bool__(self) -> bool:
        raise TypeError(
            "a quantity has no truth value before its evidence is gathered; "
            "write conditions as every(a < b, b < c), and use largest(…) and smallest(…)"
        )

    def inside(self, binds: int) -> str:
        """Text as an operand of an operation with this precedence."""
        return self.text if self.binds >= binds else f"({self.text})"

    @property
    def by(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(by for by, _ in self.origins if by))

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(target for _, target in self.origins if target))

    @property
    def is_number(self) -> bool:
        return not isinstance(self.value, bool | str)

    @property
    def varies(self) -> bool:
        """Whether it depends on the host's compiler, so it may differ on another processor."""
        return self.is_number and HOST in self.targets


def number(given: Any) -> Quantity:
    """Quantity of a number as printed (633, 10.12, "8.30", "16Gi"), or of a word."""
    if isinstance(given, Quantity):
        return given
    value = read_number(given) if isinstance(given, str) else given
    text = given if isinstance(given, str) and not given.endswith("i") else spelled(value, digits=12)
    return Quantity(value, text.replace("_", ""))


def read_number(text: str) -> Value:
    """`3.70`, `1_000` or `64Ki` as a number; other text unchanged."""
    match = _PRINTED.fullmatch(text)
    if match is None:
        return text
    value = float(match[1]) * parse_count(f"1{match[2] or ''}")
    return int(value) if value == int(value) and (match[2] or "." not in text) else value


def known(value: Value, origin: Origin) -> Quantity:
    """Quantity of a value from evidence, or from the claim's shape or table."""
    found = Quantity(value, spelled(value, digits=12 if origin == GIVEN else 6), origins=(origin,))
    return Quantity(value, f"{VARIES}{found.text}", origins=(origin,)) if found.varies else found


def computed(text: str, binds: int, apply: Callable[..., Any], *operands: Any) -> Quantity:
    """Quantity of a function's result; missing if one of the operands is missing."""
    given = [number(operand) for operand in operands]
    origins = tuple(dict.fromkeys(origin for each in given for origin in each.origins))
    missing = next((each.missing for each in given if each.missing), None)
    value = None if missing else apply(*(each.value for each in given))
    return Quantity(value, text, binds, origins, missing)


def _called(name: str, function: Callable[..., Any], *arguments: Any) -> Quantity:
    text = ", ".join(number(argument).text for argument in arguments)
    return computed(f"{name}({text})", CALL, function, *arguments)


def every(*conditions: Any) -> Quantity:
    return computed("", ATOM, lambda *values: all(values), *conditions)


log, log2 = partial(_called, "log", math.log), partial(_called, "log2", math.log2)
floor, ceil = partial(_called, "floor", math.floor), partial(_called, "ceil", math.ceil)
largest, smallest = partial(_called, "max", max), partial(_called, "min", min)


def spelled(value: Value, digits: int) -> str:
    """A value's usual notation: `549 755 813 888`, `7.61`, `1e12`, `true`."""
    if isinstance(value, bool | str):
        return short_hash(value) if isinstance(value, str) else str(value).lower()
    if isinstance(value, float) and abs(value) >= LARGE and float(f"{value:.3g}") == value:
        return short_exponent(f"{value:.3g}")
    if value == int(value) and abs(value) < 1e15:
        return grouped_digits(value)
    return short_exponent(f"{value:.{digits}g}")


def short_hash(text: str) -> str:
    """Prefix of a program's hash; other words unchanged."""
    return f"{text[:15]}…" if text.startswith("sha256:") else text


def grouped_digits(whole: float) -> str:
    """A whole number with narrow spaces between thousands."""
    return f"{whole:,.0f}".replace(",", "\u202f")


def short_exponent(text: str) -> str:
    """A number's text without padding in its exponent: `1e9`."""
    mantissa, e, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent)}" if e else mantissa
