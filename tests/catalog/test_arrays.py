import ml_dtypes
import numpy as np
import pytest

from harness import Array, cast
from harness.catalog.arrays import BYTES, nbytes, numpy_dtype, short_name
from harness.core.errors import UsageError


@pytest.mark.parametrize("name", BYTES)
def test_every_dtype_has_one_name_and_its_width(name):
    dtype = numpy_dtype(name)
    assert short_name(dtype) == name
    assert dtype.itemsize == BYTES[name]


def test_a_dtype_that_no_input_may_have_is_refused():
    with pytest.raises(KeyError, match="use one of"):
        short_name(np.dtype("complex128"))


@pytest.mark.parametrize(
    ("shape", "dtype", "says"),
    [
        ((2, 3), "float32", "its dtype is 'float32'; use one of f64, f32"),
        ((2, 1.5), "f32", r"its shape is \(2, 1.5\); use tuple\[int, ...\]"),
        (8, "f32", "its shape is 8"),
    ],
)
def test_a_description_of_no_array_is_refused_where_it_is_made(shape, dtype, says):
    with pytest.raises(UsageError, match=says):
        Array(shape, dtype)


def test_a_shape_is_a_tuple_of_pythons_numbers_however_it_is_written():
    assert Array([np.int64(2), 3], "f32") == Array((2, 3), "f32")


def test_bytes_of_a_tree_are_counted_without_arrays():
    weights = {"wq": Array((4, 8), "bf16"), "scale": Array((), "f64")}
    assert nbytes({"x": Array((2, 3), "f32"), "weights": weights}) == 24 + 64 + 8


def test_rounding_goes_to_the_nearest():
    third = cast(np.array([1 / 3]), "bf16")
    assert third.dtype == ml_dtypes.bfloat16
    assert abs(float(third[0]) - 1 / 3) <= 2**-10
    already = np.ones(3, np.float32)
    assert cast(already, "f32") is already
