import ml_dtypes
import numpy as np
import pytest

from harness import Array
from harness.worker.reference_worker import require_described

SHAPES = {"x": Array((2, 4), "f32"), "weights": {"up": Array((4,), "bf16")}}


def drawn(**changed):
    return {"x": np.ones((2, 4), "f4"), "weights": {"up": np.ones(4, ml_dtypes.bfloat16)}, **changed}


def test_what_is_drawn_as_it_is_described_passes():
    require_described("points", drawn(), SHAPES)


@pytest.mark.parametrize(
    ("inputs", "says"),
    [
        (None, "what inputs() returns is NoneType, and described it is no input"),
        (drawn(x=[[1.0]]), "x is list, and described it is f32[2, 4]"),
        (drawn(x=np.ones((2, 4))), "x is f64[2, 4], and described it is f32[2, 4]"),
        (drawn(x=np.ones((4, 2), "f4")), "x is f32[4, 2], and described it is f32[2, 4]"),
        (drawn(x=np.ones((2, 4), ">f4")), "x is >f4[2, 4], and described it is f32[2, 4]"),
        (drawn(weights={}), "weights.up is missing, and described it is bf16[4]"),
        (drawn(y=np.ones(3)), "y is f64[3], and described it is no input"),
    ],
)
def test_the_first_difference_is_named_in_both_forms(inputs, says):
    with pytest.raises(ValueError, match="family points draws other inputs than its") as caught:
        require_described("points", inputs, SHAPES)
    assert says in str(caught.value)
