"""Arrays: descriptions of inputs without storage, trees of arrays, and rounding to a workload's dtype.

numpy and ml_dtypes are imported only when an array is made.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from harness.core.declared import Declared
from harness.core.errors import UsageError

if TYPE_CHECKING:
    import numpy as np

BYTES = {"f64": 8, "f32": 4, "bf16": 2, "f16": 2, "i64": 8, "i32": 4, "bool": 1, "c64": 8}
FULL_NAMES = "float64", "float32", "bfloat16", "float16", "int64", "int32", "bool", "complex64"
NAMES = dict(zip(BYTES, FULL_NAMES, strict=True))  # as in numpy and torch
FLOATING = ("f64", "f32", "bf16", "f16")


@dataclass(frozen=True)
class Array(Declared):
    """Shape and dtype (`f64 f32 bf16 f16 i64 i32 bool c64`) of an array that need not exist."""

    shape: tuple[int, ...]
    dtype: str

    def __post_init__(self) -> None:
        """UsageError for an invalid description. Converts the shape to a tuple."""
        super().__post_init__()
        if self.dtype not in BYTES:
            raise UsageError(f"Array: unknown dtype {self.dtype!r}; use one of {', '.join(BYTES)}")
        object.__setattr__(self, "shape", tuple(map(int, self.shape)))

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * BYTES[self.dtype]


Shapes: TypeAlias = Mapping[str, "Array | Shapes"]
"""Inputs by name; a value is an array or, for weights, a mapping of arrays."""

Split: TypeAlias = "tuple[str | None, ...] | Mapping[str, Split]"
"""Per dimension of an array, the mesh axis that it is split over, or None; nested like the arrays."""


@dataclass(frozen=True)
class Sharding:
    """The placement of one workload's arrays on `devices` devices, a one-dimensional mesh called `axis`.

    `inputs` has every input by name; an input without an axis is replicated on every device. A split
    dimension must be divisible by `devices`. `outputs` applies to every part of the result; None leaves
    them to the compiler.
    """

    devices: int
    axis: str
    inputs: Mapping[str, Split]
    outputs: tuple[str | None, ...] | None = None


def walk(tree: Any, *path: str | int) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """(path, leaf) of every leaf of a tree of dicts, tuples and lists.

    Dicts are walked in the order of their sorted names, so that trees built separately agree.
    """
    if isinstance(tree, dict):
        for name, branch in sorted(entries(tree), key=lambda entry: entry[0]):
            yield from walk(branch, *path, str(name))
    elif isinstance(tree, (tuple, list)):
        for index, branch in enumerate(elements(tree)):
            yield from walk(branch, *path, index)
    else:
        yield path, tree


def entries(branch: dict[Any, Any]) -> Iterator[tuple[Any, Any]]:
    """The stored entries of a dict, bypassing a subclass that overrides iteration."""
    return iter(dict.items(branch))


def elements(branch: tuple[Any, ...] | list[Any]) -> Iterator[Any]:
    """The stored elements of a tuple or list, bypassing a subclass that would compute them on iteration."""
    return list.__iter__(branch) if isinstance(branch, list) else tuple.__iter__(branch)


def nbytes(tree: Any) -> int:
    """The total bytes of the arrays, or of their descriptions, in a tree."""
    return sum(leaf.nbytes for _, leaf in walk(tree))


def prune(tree: Any) -> Any:
    """The tree without dict entries that are None or contain only None; None if nothing is left."""
    if not isinstance(tree, Mapping):
        return tree
    branches = {name: prune(branch) for name, branch in tree.items()}
    return {name: branch for name, branch in branches.items() if branch is not None} or None


def numpy_dtype(name: str) -> Any:
    """The numpy dtype of a short name; bf16 comes from ml_dtypes."""
    import numpy as np

    if name == "bf16":
        importlib.import_module("ml_dtypes")  # registers bfloat16 with numpy
    return np.dtype(NAMES[name])


def short_name(dtype: Any) -> str:
    """`f32` for numpy's float32, and so on. KeyError for a dtype that no input may have."""
    for name in BYTES:
        if numpy_dtype(name) == dtype:
            return name
    raise KeyError(f"an input has dtype {dtype}; use one of {', '.join(BYTES)}")


def cast(array: np.ndarray[Any, Any], dtype: str) -> np.ndarray[Any, Any]:
    """`array` rounded to nearest in `dtype` (a short name such as `bf16`)."""
    return array.astype(numpy_dtype(dtype), copy=False)
