"""Trees of arrays in memory-mapped files: processes exchange inputs, references and results through them.

A folder contains `tree.json` (the tree's structure, dtype and shape of every leaf) and one raw file per leaf.
Files are mapped when read, so processes share one copy.
"""

import errno
import json
import shutil
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any
from zlib import crc32  # bound at import, so that replacing zlib.crc32 changes no checksum

import ml_dtypes
import numpy as np

from harness.catalog.arrays import elements, entries, nbytes, walk
from harness.core.errors import ScratchFull
from harness.core.units import format_bytes

PARTS = 1000  # maximum number of leaves of a result: each becomes a file
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}  # EFBIG: the shell's limit, `ulimit -f`


def map_leaves(tree: Any, change: Callable[[Any], Any]) -> Any:
    """The tree with `change` applied to every leaf; dicts, tuples and lists are branches."""
    if isinstance(tree, dict):
        return {name: map_leaves(branch, change) for name, branch in entries(tree)}
    if isinstance(tree, (tuple, list)):
        return tuple(map_leaves(branch, change) for branch in elements(tree))
    return change(tree)


def leaves(tree: Any) -> list[Any]:
    """The leaves, in the order of :func:`walk`."""
    return [leaf for _, leaf in walk(tree)]


def expect_arrays(tree: Any, kinds: tuple[type, ...], expected: str, *, subclasses: bool = False) -> None:
    """Raise TypeError for the first leaf with a type outside `kinds`; `expected` names these in the message.

    Subclasses are accepted only with `subclasses`: a subclass could defer its computation until it is read,
    which is not timed.
    """
    for count, (path, leaf) in enumerate(walk(tree)):
        if not (isinstance(leaf, kinds) if subclasses else type(leaf) in kinds):
            actual = "None" if leaf is None else type(leaf).__name__
            place = "".join(f'["{part}"]' if isinstance(part, str) else f"[{part}]" for part in path)
            where = f" in {place} of its result" if place else ""
            raise TypeError(f"the callable returned {actual}{where}; return {expected}")
        if count >= PARTS:
            raise TypeError(f"the callable returned more than {PARTS} parts; return a few {expected}")


def checksums(tree: Any) -> list[int]:
    """A checksum of the values of every array, as `write` would store them."""
    return [crc32(_raw(np.asarray(leaf))) for leaf in leaves(tree)]


def _raw(array: Any) -> Any:
    """An array's bytes in C order and native byte order; a copy if the array has another order."""
    require_numbers(array)
    return np.ascontiguousarray(array, array.dtype.newbyteorder("=")).reshape(-1).view(np.uint8).data


def require_numbers(array: Any) -> None:
    """Raise TypeError for an array with a non-numeric dtype, for example object or str."""
    if array.dtype.kind not in "biufc" and not hasattr(ml_dtypes, array.dtype.name):
        raise TypeError(f"dtype {array.dtype} is not numeric; return numeric arrays")


def write(folder: Path, tree: Any) -> None:
    """Write a tree of arrays to a new folder, which is removed if writing fails.

    Raises TypeError for a leaf with a non-numeric dtype, ScratchFull if the disk is full.
    """
    try:
        _write(folder, tree)
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if not isinstance(error, OSError) or error.errno not in FULL:
            raise
        free = shutil.disk_usage(folder.parent).free
        raise ScratchFull(
            f"{folder.parent} (below TMPDIR) has no space for {format_bytes(nbytes(tree))} of arrays "
            f"({error.strerror}, {format_bytes(free)} free)"
        ) from None


def _write(folder: Path, tree: Any) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    count = 0

    def store(leaf: Any) -> dict[str, Any]:
        nonlocal count
        array = np.asarray(leaf)
        name = f"{count}.raw"
        count += 1
        # ndarray.tofile ends a short write with an OSError that has no errno (numpy 2.5).
        (folder / name).write_bytes(_raw(array))
        return {"file": name, "dtype": array.dtype.name, "shape": list(array.shape)}

    form = _describe(tree, store)
    (folder / "tree.json").write_text(json.dumps(form), encoding="utf-8")


def read(
    folder: Path, change: Callable[[Any], Any] = lambda leaf: leaf, only: Collection[str] | None = None
) -> Any:
    """Read a tree: map its leaves read-only, and apply `change` to each in turn.

    `only` selects entries of a dict.
    """
    form = json.loads((folder / "tree.json").read_text(encoding="utf-8"))
    if only is not None:
        form = {"dict": {name: form["dict"][name] for name in only}}
    return _restore(form, folder, change)


def _describe(tree: Any, store: Callable[[Any], Any]) -> Any:
    if isinstance(tree, dict):
        return {"dict": {str(name): _describe(branch, store) for name, branch in entries(tree)}}
    if isinstance(tree, (tuple, list)):
        return {"tuple": [_describe(branch, store) for branch in elements(tree)]}
    return {"leaf": store(tree)}


def _restore(form: Any, folder: Path, change: Callable[[Any], Any]) -> Any:
    if "dict" in form:
        return {name: _restore(branch, folder, change) for name, branch in form["dict"].items()}
    if "tuple" in form:
        return tuple(_restore(branch, folder, change) for branch in form["tuple"])
    leaf = form["leaf"]
    dtype = np.dtype(getattr(ml_dtypes, leaf["dtype"], leaf["dtype"]))
    shape = tuple(leaf["shape"])
    # An empty file cannot be mapped (mmap(2)).
    if 0 in shape:
        return change(np.empty(shape, dtype))
    mapped = np.memmap(folder / leaf["file"], dtype=dtype, mode="r", shape=shape or (1,))
    return change(mapped.reshape(shape))
