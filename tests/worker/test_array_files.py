import json
import re
import resource
from contextlib import contextmanager

import numpy as np
import pytest

from harness.catalog.arrays import BYTES, numpy_dtype, prune
from harness.core.errors import ScratchFull
from harness.worker import array_files


def round_trip(folder, tree, **how):
    array_files.write(folder / "tree", tree)
    return array_files.read(folder / "tree", **how)


@pytest.mark.parametrize("name", [*BYTES, "complex128", "uint8"])
@pytest.mark.parametrize("shape", [(), (3,), (300, 1000), (0,), (4, 0, 2)])
def test_every_dtype_and_shape_is_restored_with_its_checksum(tmp_path, name, shape):
    dtype = numpy_dtype(name) if name in BYTES else np.dtype(name)
    array = (np.random.default_rng(1).standard_normal(shape) * 9).astype(dtype)
    again = round_trip(tmp_path, array)
    assert (again.dtype, again.shape) == (array.dtype, shape)
    assert again.tobytes() == array.tobytes()
    for tree in (array, {"a": array.T, "b": (array, np.flip(array))}):
        assert array_files.checksums(tree) == array_files.checksums(round_trip(tmp_path, tree))


def test_a_checksum_depends_on_values_their_order_and_byte_order():
    array = np.arange(6, dtype=np.int32).reshape(2, 3)
    assert array_files.checksums(array) == array_files.checksums(array.astype(">i4"))
    assert array_files.checksums(np.asfortranarray(array)) == array_files.checksums(array)
    changed = array.copy()
    changed[1, 2] += 1
    others = [array.T, array[::-1], changed, -array]
    assert array_files.checksums(array)[0] not in array_files.checksums(others)
    with pytest.raises(TypeError, match="dtype object is not numeric; return numeric arrays"):
        array_files.checksums(np.array([{}]))


def test_structure_is_restored_and_lists_become_tuples(tmp_path):
    tree = {"b": (np.ones(2), [np.zeros(1), {"z": np.arange(3), "a": np.float32(4)}]), "a": np.ones((2, 2))}
    again = round_trip(tmp_path, tree)
    assert list(again) == ["b", "a"]
    assert isinstance(again["b"][1], tuple)
    assert list(again["b"][1][1]) == ["z", "a"]
    assert again["b"][1][1]["a"] == 4
    assert json.loads((tmp_path / "tree" / "tree.json").read_text())["dict"]["a"]["leaf"]["shape"] == [2, 2]


def test_leaves_are_mapped_and_read_only(tmp_path):
    again = round_trip(tmp_path, np.ones(3))
    assert isinstance(again.base, np.memmap) or isinstance(again, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        again[0] = 2


def test_leaves_can_be_converted_and_selected_while_reading(tmp_path):
    tree = {"x": np.ones(3), "y": np.ones(2), "z": {"w": np.ones(1)}}
    sizes = round_trip(tmp_path, tree, change=lambda leaf: leaf.size, only=("z", "x"))
    assert sizes == {"z": {"w": 1}, "x": 3}


@pytest.mark.parametrize(
    "array", [np.array([None]), np.array(["a"]), np.zeros(2, "V4"), np.zeros(1, "datetime64[s]")]
)
def test_non_numeric_arrays_are_refused(tmp_path, array):
    with pytest.raises(TypeError, match="is not numeric"):
        array_files.write(tmp_path / "tree", array)


def test_pruning_leaves_no_empty_branch():
    assert prune({"a": None, "b": {"c": None}, "d": {"e": 1, "f": None}}) == {"d": {"e": 1}}
    assert prune({"a": {"b": None}}) is None


@contextmanager
def little_space():
    """Limit files of this process to 4 KiB during the block."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_failed_write_reports_its_size_and_is_removed(tmp_path):
    with little_space(), pytest.raises(ScratchFull) as caught:
        array_files.write(tmp_path / "set0", {"scores": np.ones(256), "bias": np.ones(1000)})
    assert re.fullmatch(
        rf"{tmp_path} \(below TMPDIR\) has no space for 9.81 KiB of arrays "
        r"\(File too large, [0-9.]+ [KMGT]iB free\)",
        str(caught.value),
    )
    assert list(tmp_path.iterdir()) == []
