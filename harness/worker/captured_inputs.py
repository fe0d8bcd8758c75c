"""Captured inputs: tensors from a `.npz` or `.safetensors` file in place of drawn inputs of the same names.

The file is data: nothing in it is executed or unpickled. Its header is checked against the workload and the
file's size before memory is allocated, and no more is read than the workload needs: of a longer tensor, the
leading part along each axis.
"""

import json
import math
import struct
import zipfile
import zlib
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any

import numpy as np

from harness.catalog.arrays import BYTES, Array, numpy_dtype, short_name, walk
from harness.catalog.family import Family
from harness.core.errors import Unsupported, nearest
from harness.core.workload import fields_of
from harness.core.workload_files import identify_captured, is_captured, path_of

HEADER_BYTES = 1 << 20  # of a file's JSON, or of one .npy header: thousands of tensors
SAFETENSORS = {name.upper(): name for name in BYTES if name != "c64"}
# The exceptions that reading a damaged or encrypted archive raises.
BROKEN = (ValueError, OSError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError)


def draw_inputs(family: Family, workload: Any, rng: np.random.Generator) -> Mapping[str, Any]:
    """A family's inputs: drawn, or read from the file of captured ones that the workload names.

    Inputs that the file lacks are drawn with the field at its default, or computed from the given ones by the
    family. Unsupported names the file, the tensor and the remedy.
    """
    named = [field for field in fields_of(type(workload)) if field.captured]
    field = next((field for field in named if is_captured(getattr(workload, field.name))), None)
    if field is None:
        return family.inputs(workload, rng)
    identity = getattr(workload, field.name)
    given = read_captured(identity, family.shapes(workload))
    arrays = family.inputs(replace(workload, **{field.name: field.default}), rng)
    merged = _merge(arrays, given)
    if family.complete is None:
        return merged
    try:
        return family.complete(workload, merged, frozenset(given))
    except ValueError as error:
        raise Unsupported(f"{path_of(identity)}: {error}") from None


def read_captured(identity: str, shapes: Mapping[str, Any]) -> dict[str, Any]:
    """The tensors of a file by name (`weights.wq` in a group), cut to the shapes that `shapes` describes."""
    try:
        identify_captured(identity)
    except ValueError as error:
        raise Unsupported(str(error)) from None
    wanted: dict[str, Array] = {".".join(map(str, path)): leaf for path, leaf in walk(dict(shapes))}
    path = path_of(identity)
    try:
        with open_tensors(path) as tensors:
            for name in tensors:
                if name not in wanted:
                    raise ValueError(f'tensor "{name}" is no input here{nearest(name, wanted)}')
            if not tensors:
                raise ValueError(f"it holds no tensor; write some of {', '.join(wanted)}")
            for name, tensor in tensors.items():  # all of them, before memory is asked for
                tensor.check(name, wanted[name])
            return {name: tensor.read(name, wanted[name]) for name, tensor in tensors.items()}
    except BROKEN as error:
        remedy = "" if isinstance(error, (ValueError, OSError)) else "; write it again"
        raise Unsupported(f"{path}: {error}{remedy}") from None


@dataclass(frozen=True)
class Tensor:
    """A tensor of a file: its header's dtype and shape, and its data: `nbytes` from `start` on."""

    dtype: str
    shape: tuple[int, ...]
    file: Any  # open, at any position
    start: int
    nbytes: int

    def check(self, name: str, wanted: Array) -> None:
        """ValueError unless it has the dtype wanted, and no axis is too short."""
        if self.dtype != wanted.dtype:
            raise ValueError(
                f'tensor "{name}" is {self.dtype}, wanted {wanted.dtype}; convert it, or choose another dtype'
            )
        axes = zip(self.shape, wanted.shape, strict=False)
        if len(self.shape) != len(wanted.shape) or any(has < wants for has, wants in axes):
            raise ValueError(
                f'tensor "{name}" has the shape {list(self.shape)}, wanted {list(wanted.shape)} or more on '
                "each axis; capture more, or choose smaller sizes"
            )
        size = math.prod(self.shape) * numpy_dtype(self.dtype).itemsize
        if size != self.nbytes:
            shape = list(self.shape)
            raise ValueError(
                f'tensor "{name}" has {self.nbytes} bytes, and {shape} takes {size}; write it again'
            )

    def read(self, name: str, wanted: Array) -> Any:
        """The leading part that is wanted; :meth:`check` must have passed."""
        dtype = numpy_dtype(wanted.dtype)
        same = next((i for i in range(len(self.shape), 0, -1) if self.shape[i - 1] != wanted.shape[i - 1]), 0)
        block = math.prod(self.shape[same:])  # elements that are contiguous in the file and in the result
        out = np.empty((*wanted.shape[:same], block), dtype)
        run = 1 if not same else wanted.shape[same - 1]  # contiguous blocks per read
        steps = [math.prod(self.shape[axis + 1 :]) for axis in range(max(same - 1, 0))]
        for outer in np.ndindex(*wanted.shape[: max(same - 1, 0)]):
            offset = sum(index * step for index, step in zip(outer, steps, strict=True))
            self.file.seek(self.start + offset * dtype.itemsize)
            data = self.file.read(run * block * dtype.itemsize)
            if len(data) != run * block * dtype.itemsize:
                raise ValueError(f'tensor "{name}" ends early; write the file again')
            out[outer] = np.frombuffer(data, dtype).reshape(out[outer].shape)
        if np.isnan(out).any():
            raise ValueError(f'tensor "{name}" holds NaN, which equals nothing; write numbers, or infinities')
        return out.reshape(wanted.shape)


@contextmanager
def open_tensors(path: Path) -> Generator[dict[str, Tensor]]:
    """The tensors of a file by name, readable while it is open. ValueError where its header is wrong."""
    with path.open("rb") as file:
        if path.suffix == ".safetensors":
            yield _safetensors(file, path.stat().st_size)
        else:
            with zipfile.ZipFile(file) as archive:
                members = {entry.filename.removesuffix(".npy"): entry for entry in archive.infolist()}
                yield {name: _npy(name, archive, entry) for name, entry in members.items()}


def _safetensors(file: IO[bytes], size: int) -> dict[str, Tensor]:
    """Tensors of the safetensors format: 8 bytes of length (little-endian), that much JSON, the data."""
    prefix = file.read(8)
    length = struct.unpack("<Q", prefix)[0] if len(prefix) == 8 else 0
    if not 2 <= length <= min(HEADER_BYTES, size - 8):
        raise ValueError(f"its header would have {length} bytes, and the file has {size}; write it again")
    try:
        header = json.loads(file.read(length))
        entries = {name: entry for name, entry in header.items() if name != "__metadata__"}
        return {name: _entry(name, entry, file, 8 + length, size) for name, entry in entries.items()}
    except (
        AttributeError,
        KeyError,
        TypeError,
        RecursionError,
        UnicodeDecodeError,
        json.JSONDecodeError,
    ) as error:
        raise ValueError(f"its header is no safetensors header ({error}); write it again") from None


def _entry(name: str, entry: Mapping[str, Any], file: IO[bytes], data: int, size: int) -> Tensor:
    dtype, shape, (begin, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
    if dtype not in SAFETENSORS:
        raise ValueError(f'tensor "{name}" is {dtype}; use one of {", ".join(SAFETENSORS)}')
    if not all(type(n) is int and n >= 0 for n in (*shape, begin, end)) or not begin <= end <= size - data:
        raise ValueError(f'tensor "{name}" lies outside of the file; write it again')
    return Tensor(SAFETENSORS[dtype], tuple(shape), file, data + begin, end - begin)


def _npy(name: str, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Tensor:
    """A member of an .npz by its header (numpy.lib.format), which is read without unpickling."""
    file = archive.open(entry)
    if not entry.filename.endswith(".npy"):
        raise ValueError(f'"{name}" is no array; write it with numpy.savez')
    version = np.lib.format.read_magic(file)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in readers:
        raise ValueError(f'tensor "{name}" has version {version} of the format; write it with numpy.savez')
    try:
        shape, fortran, dtype = readers[version](file, max_header_size=HEADER_BYTES)
    except TokenError:  # numpy retries a malformed header as one written by Python 2
        raise ValueError(f'the header of tensor "{name}" is torn; write it with numpy.savez') from None
    if fortran and len(shape) > 1:
        raise ValueError(f'tensor "{name}" is in Fortran order; save numpy.ascontiguousarray of it')
    return Tensor(_short(name, dtype), shape, file, file.tell(), entry.file_size - file.tell())


def _short(name: str, dtype: Any) -> str:
    """The short name of a dtype; numpy writes bfloat16, which it does not know, as two raw bytes."""
    if dtype.kind == "V" and dtype.itemsize == 2 and not dtype.names:
        return "bf16"
    try:
        if dtype.hasobject or not dtype.isnative:
            raise KeyError
        return short_name(dtype)
    except KeyError:
        raise ValueError(f'tensor "{name}" is {dtype}; use f64, f32, f16, bf16, i64, i32 or bool') from None


def _merge(drawn: Mapping[str, Any], given: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """The drawn arrays, with the given ones in place of those of the same names."""
    return {
        name: _merge(value, given, f"{above}{name}.")
        if isinstance(value, Mapping)
        else given.get(above + name, value)
        for name, value in drawn.items()
    }
