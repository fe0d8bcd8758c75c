"""Trees of arrays in files: how inputs, references and results pass between processes.

A folder holds `tree.json` (the form of the tree, dtype and shape of every leaf) and one raw file
per leaf. Reading maps the files, so that processes share one copy.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np


def map_leaves(tree: Any, change: Callable[[Any], Any]) -> Any:
    """The same tree with every leaf changed; dicts, tuples and lists are branches."""
    if isinstance(tree, Mapping):
        return {name: map_leaves(branch, change) for name, branch in tree.items()}
    if isinstance(tree, (tuple, list)):
        return tuple(map_leaves(branch, change) for branch in tree)
    return change(tree)


def leaves(tree: Any) -> list[Any]:
    if isinstance(tree, Mapping):
        return [leaf for name in tree for leaf in leaves(tree[name])]
    if isinstance(tree, (tuple, list)):
        return [leaf for branch in tree for leaf in leaves(branch)]
    return [tree]


def nbytes(tree: Any) -> int:
    return sum(leaf.nbytes for leaf in leaves(tree))


def write(folder: Path, tree: Any) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    count = 0

    def store(leaf: Any) -> dict[str, Any]:
        nonlocal count
        array = np.ascontiguousarray(leaf)
        name = f"{count}.raw"
        count += 1
        array.tofile(folder / name)
        return {"file": name, "dtype": array.dtype.name, "shape": list(np.shape(leaf))}

    form = _describe(tree, store)
    (folder / "tree.json").write_text(json.dumps(form))


def read(folder: Path) -> Any:
    """The tree, its leaves mapped read-only."""
    return _restore(json.loads((folder / "tree.json").read_text()), folder)


def _describe(tree: Any, store: Callable[[Any], Any]) -> Any:
    if isinstance(tree, Mapping):
        return {"dict": {str(name): _describe(branch, store) for name, branch in tree.items()}}
    if isinstance(tree, (tuple, list)):
        return {"tuple": [_describe(branch, store) for branch in tree]}
    return {"leaf": store(tree)}


def _restore(form: Any, folder: Path) -> Any:
    if "dict" in form:
        return {name: _restore(branch, folder) for name, branch in form["dict"].items()}
    if "tuple" in form:
        return tuple(_restore(branch, folder) for branch in form["tuple"])
    leaf = form["leaf"]
    dtype = np.dtype(ml_dtypes.bfloat16) if leaf["dtype"] == "bfloat16" else np.dtype(leaf["dtype"])
    shape = tuple(leaf["shape"])
    if 0 in shape:
        return np.empty(shape, dtype)
    return np.memmap(folder / leaf["file"], dtype=dtype, mode="r", shape=shape or (1,)).reshape(shape)
