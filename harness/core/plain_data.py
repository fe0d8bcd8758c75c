"""Plain data for JSON: converted to dataclasses with type checks, and made from figures."""

import math
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from threading import RLock
from typing import Any, TypeVar

T = TypeVar("T")

# msgspec caches a dataclass's type information on the class before it is complete: a second thread that uses
# the same class meanwhile reads past its end. The lock is reentrant, because classes refer to each other.
_CONVERSION = RLock()
WHOLE = 1 << 63  # JSON readers support whole numbers below this


def from_plain(kind: type[T], data: Any) -> T:
    """Convert plain data to an object of a dataclass; unknown fields are left out.

    Lists become tuples, and whole numbers stay whole if the field allows them. ValueError, with the path of
    the field, for a value of another type, a missing field, or an object that the class refuses.
    """
    import msgspec  # takes 15 ms, which `--help` saves

    try:
        with _CONVERSION:
            return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None


def digest(data: Any) -> str:
    """The SHA-256 of plain data, independent of the order of its keys."""
    import msgspec

    return sha256(msgspec.json.encode(data, order="deterministic")).hexdigest()


def plain_number(value: Any) -> Any:
    """A number of numpy as a number of Python, for encoders. TypeError for anything else."""
    if not hasattr(value, "item"):
        raise TypeError(f"{type(value).__name__} has no JSON form")
    return value.item()


def plain(value: Any) -> Any:
    """A figure for JSON: numpy's numbers become Python's, and numbers that are not finite become text.

    TypeError for anything else, for example a list: a record with it could be written, but not read.
    """
    number: Callable[[], Any] | None = getattr(value, "item", None)
    value = number() if number else value
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, int) and abs(value) >= WHOLE:
        return float(value)
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if value is not None and not isinstance(value, (int, float)):
        raise TypeError(f"a {type(value).__name__} is not a figure; use a number, a text or None")
    return value


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """(dotted name, old value, new value) of all differences: the old names in order, then new names."""
    for name in [*before, *(name for name in now if name not in before)]:
        old, new = before.get(name), now.get(name)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            yield from ((f"{name}.{inner}", *values) for inner, *values in differences(old, new))
        elif old != new:
            yield name, old, new
