"""Grouping of items by a key."""

from collections.abc import Callable, Iterable
from typing import TypeVar

Item = TypeVar("Item")
Key = TypeVar("Key")


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """The items by key, in their order; they need not be sorted."""
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def collected(pairs: Iterable[tuple[Key, Item]]) -> dict[Key, list[Item]]:
    """The values of pairs by key, in their order."""
    return {key: [value for _, value in group] for key, group in grouped(pairs, lambda pair: pair[0]).items()}
