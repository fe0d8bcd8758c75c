"""Captured inputs: tensors from a `.npz` or `.safetensors` file that replace drawn inputs of the same names.

Nothing in the file is executed or unpickled. If a tensor is larger than its input, its leading part along
each axis is used. A `.safetensors` file is mapped and only this part is read; an `.npz` is read completely.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from harness.catalog.arrays import BYTES, Array, numpy_dtype, walk
from harness.catalog.family import Family
from harness.core.errors import Unsupported, nearest
from harness.core.workload import fields_of
from harness.core.workload_files import identify_captured, is_captured, path_of

HEADER_BYTES = 1 << 20  # of a file's JSON or one .npy header: enough for thousands of tensors
SAFETENSORS = {name.upper(): name for name in BYTES if name != "c64"}


def draw_inputs(family: Family, workload: Any, rng: np.random.Generator) -> Mapping[str, Any]:
    """A family's inputs: drawn, or read from the capture file that the workload names.

    Inputs missing in the file are drawn with the field at its default, or the family computes them from the
    captured ones. Raises Unsupported, with file, tensor and remedy.
    """
    fields = [field for field in fields_of(type(workload)) if field.captured]
    field = next((field for field in fields if is_captured(getattr(workload, field.name))), None)
    if field is None:
        return family.inputs(workload, rng)
    identity = getattr(workload, field.name)
    captured = read_captured(identity, family.shapes(workload))
    arrays = family.inputs(replace(workload, **{field.name: field.default}), rng)
    merged = _merge(arrays, captured)
    if family.complete is None:
        return merged
    try:
        return family.complete(workload, merged, frozenset(captured))
    except ValueError as error:
        raise Unsupported(f"{path_of(identity)}: {error}") from None


def read_captured(identity: str, shapes: Mapping[str, Any]) -> dict[str, Any]:
    """The tensors of a file by name (`weights.wq` in a group), cut to the described `shapes`."""
    try:
        identify_captured(identity)
    except ValueError as error:
        raise Unsupported(str(error)) from None
    expected: dict[str, Array] = {".".join(map(str, path)): leaf for path, leaf in walk(dict(shapes))}
    path = path_of(identity)
    try:
        tensors = _safetensors(path) if path.suffix == ".safetensors" else _npz(path)
        for name in tensors:
            if name not in expected:
                raise ValueError(f'tensor "{name}" is not an input of this family{nearest(name, expected)}')
        if not tensors:
            raise ValueError(f"it contains no tensor; store at least one of {', '.join(expected)}")
        return {name: _leading_part(name, tensor, expected[name]) for name, tensor in tensors.items()}
    except ValueError as error:
        raise Unsupported(f"{path}: {error}") from None
    except Exception as error:  # a damaged file can make its reader raise anything
        why = f"{type(error).__name__}: {error}"
        raise Unsupported(
            f"{path} cannot be read ({why}); write it again (large files as .safetensors)"
        ) from None


def _leading_part(name: str, tensor: Any, expected: Array) -> Any:
    """A copy of the leading part. ValueError for another dtype, an axis that is too short, or NaN."""
    if tensor.dtype != numpy_dtype(expected.dtype):
        raise ValueError(
            f'tensor "{name}" is {tensor.dtype}, expected {numpy_dtype(expected.dtype)}; '
            "convert it, or choose another dtype"
        )
    axes = zip(tensor.shape, expected.shape, strict=False)
    if tensor.ndim != len(expected.shape) or any(has < wants for has, wants in axes):
        raise ValueError(
            f'tensor "{name}" has shape {list(tensor.shape)}, expected at least {list(expected.shape)}; '
            "capture more, or choose smaller sizes"
        )
    part = np.array(tensor[tuple(map(slice, expected.shape))], order="C")
    if np.isnan(part).any():
        raise ValueError(f'tensor "{name}" contains NaN, which cannot be compared; write other values')
    return part


def _npz(path: Path) -> dict[str, Any]:
    """The arrays of an .npz file; numpy stores bfloat16, which it does not know, as two raw bytes."""
    with path.open("rb") as file, np.lib.npyio.NpzFile(file, max_header_size=HEADER_BYTES) as archive:
        arrays = {name: np.asanyarray(archive[name]) for name in archive.files}
    raw = np.dtype("V2")
    return {n: each.view(ml_dtypes.bfloat16) if each.dtype == raw else each for n, each in arrays.items()}


def _safetensors(path: Path) -> dict[str, Any]:
    """The mapped tensors of a file: 8 bytes with the header's length (little-endian), JSON header, data."""
    content = np.memmap(path, np.uint8, "r")
    length = int.from_bytes(content[:8].tobytes(), "little")
    if not 2 <= length <= min(HEADER_BYTES, len(content) - 8):
        raise ValueError(
            f"its header length is {length} bytes, but the file has {len(content)}; write it again"
        )
    header = json.loads(content[8 : 8 + length].tobytes())
    entries = {name: entry for name, entry in header.items() if name != "__metadata__"}
    return {name: _entry(name, entry, content[8 + length :]) for name, entry in entries.items()}


def _entry(name: str, entry: Mapping[str, Any], data: Any) -> Any:
    """The tensor of a header entry. ValueError if its size in `data` does not match its shape."""
    dtype, shape, (begin, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
    if dtype not in SAFETENSORS:
        raise ValueError(f'tensor "{name}" is {dtype}; use one of {", ".join(SAFETENSORS)}')
    described = Array(tuple(shape), SAFETENSORS[dtype])
    if not 0 <= begin <= end <= len(data) or end - begin != described.nbytes:
        raise ValueError(f'tensor "{name}" has wrong offsets or a wrong size; write the file again')
    return data[begin:end].view(numpy_dtype(described.dtype)).reshape(described.shape)


def _merge(drawn: Mapping[str, Any], captured: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """The drawn arrays, replaced by `captured` arrays of the same names."""
    return {
        name: _merge(value, captured, f"{above}{name}.")
        if isinstance(value, Mapping)
        else captured.get(above + name, value)
        for name, value in drawn.items()
    }
