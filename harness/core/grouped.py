"""Grouping of items by a key."""

from collections.abc import Callable, Iterable
from typing import TypeVar

Item = TypeVar("Item")
Key = TypeVar("Key")


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Key → its items, both in the order in which they come; they need not be sorted."""
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def collected(pairs: Iterable[tuple[Key, Item]]) -> dict[Key, list[Item]]:
    """Key → all values that the pairs have for it, in their order."""
    return {key: [value for _, value in group] for key, group in grouped(pairs, lambda pair: pair[0]).items()}
