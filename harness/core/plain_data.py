"""Plain data, as JSON holds it: read into dataclasses with every type checked, and made from figures."""

import math
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from threading import RLock
from typing import Any, TypeVar

T = TypeVar("T")

# msgspec keeps what it learns of a dataclass on the class while it is still learning it: a second thread that
# asks for the same class meanwhile reads past the end of what is there. A class may ask for another in turn.
_CONVERSION = RLock()
WHOLE = 1 << 63  # what JSON's readers hold as a whole number


def from_plain(kind: type[T], data: Any) -> T:
    """The object of a dataclass that plain data describes; fields that it does not know are left out.

    Lists become tuples, and whole numbers stay whole where the field allows them. ValueError says what is
    wrong, with the path of the field: a value of another type, a missing field, a contradiction that the
    class itself refuses.
    """
    import msgspec  # loads in 15 ms, which `--help` does without

    try:
        with _CONVERSION:
            return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None


def digest(data: Any) -> str:
    """SHA-256 of plain data, whatever the order of its keys."""
    import msgspec

    return sha256(msgspec.json.encode(data, order="deterministic")).hexdigest()


def plain_number(value: Any) -> Any:
    """A number of numpy's as Python's, for an encoder that does not know it. TypeError for anything else."""
    if not hasattr(value, "item"):
        raise TypeError(f"{type(value).__name__} has no JSON form")
    return value.item()


def plain(value: Any) -> Any:
    """A figure as JSON can hold it: numpy's as Python's, what is not finite as its name.

    TypeError for anything else, such as a list: a record could be written with it, but not read again.
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
        raise TypeError(f"a {type(value).__name__} is no figure; give a number, a text or None")
    return value


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """(dotted name, value before, value now) of what differs, as the first has it, then what is new."""
    for name in [*before, *(name for name in now if name not in before)]:
        old, new = before.get(name), now.get(name)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            yield from ((f"{name}.{inner}", *values) for inner, *values in differences(old, new))
        elif old != new:
            yield name, old, new
