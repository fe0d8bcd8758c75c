"""Drawn inputs held to what their family says of them: a compiler goes by the one, a call gets the other."""

from collections.abc import Iterator, Mapping
from typing import Any

from harness.catalog.arrays import BYTES, numpy_dtype


def require_described(family: str, drawn: Any, described: Mapping[str, Any]) -> None:
    """ValueError, with both forms, for the first input that is drawn otherwise than `shapes` describes it."""
    mine, theirs = dict(_forms(drawn)), dict(_forms(described))
    for name in sorted(theirs | mine):
        if mine.get(name) != theirs.get(name):
            drew, says = mine.get(name, "missing"), theirs.get(name, "no input")
            raise ValueError(
                f"family {family} draws other inputs than its shapes() describes: "
                f"{name or 'what inputs() returns'} is {drew}, and described it is {says}"
            )


def _forms(tree: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """(name, `f32[8, 64]`) of every array of nested mappings; of what is no array its type."""
    if isinstance(tree, Mapping):
        for each, branch in tree.items():
            yield from _forms(branch, f"{name}.{each}" if name else str(each))
        return
    dtype, shape = getattr(tree, "dtype", None), getattr(tree, "shape", None)
    if dtype is None or shape is None:
        yield name, type(tree).__name__
    else:
        yield name, f"{_short(dtype)}{list(shape)}"


def _short(dtype: Any) -> str:
    return next((name for name in BYTES if dtype in {name, numpy_dtype(name)}), str(dtype))
