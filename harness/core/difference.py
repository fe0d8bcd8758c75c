"""The difference of two nested mappings, such as fingerprints and settings."""

from collections.abc import Iterator, Mapping
from typing import Any


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """(dotted name, value before, value now) of what differs, as the first has it, then what is new."""
    for name in [*before, *(name for name in now if name not in before)]:
        old, new = before.get(name), now.get(name)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            yield from ((f"{name}.{inner}", *values) for inner, *values in differences(old, new))
        elif old != new:
            yield name, old, new
