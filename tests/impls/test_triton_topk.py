"""Radix select in Triton, interpreted: rows of odd lengths, equal scores, and rows cut in slices."""

import pytest

from harness import Unsupported
from impls.topk.exact.triton_two_stage import _even, triton_two_stage
from impls.topk.family import TopkWorkload
from tests.impls.interpreted import KERNELS, assert_right, interpret

pytestmark = KERNELS


@pytest.mark.full
@pytest.mark.parametrize(
    "distribution", ["tied", *(pytest.param(name, marks=pytest.mark.long) for name in ("iid", "causal"))]
)
def test_the_largest_are_selected(tmp_path, distribution):
    names = "triton_radix_select,triton_two_stage[columns=600]"
    axes = {"dtype": "f32,bf16", "topk": "100", "rows": "2", "distribution": distribution}
    assert_right(interpret(tmp_path, "topk", names, "1777", **axes), 4)


@pytest.mark.long
def test_half_and_double_precision(tmp_path):
    names = "triton_radix_select,triton_two_stage[columns=4096]"
    assert_right(interpret(tmp_path, "topk", names, "4099", dtype="f16,f64", topk="2048", rows="2"), 4)


def test_every_slice_holds_as_many_as_are_kept():
    for seq in (601, 1201, 1799, 5000, 99991):
        w = TopkWorkload(seq=seq, topk=300)
        size = _even(w, 600)
        slices = -(-seq // size)
        assert seq - (slices - 1) * size >= w.topk
    with pytest.raises(Unsupported, match="use 600 or more"):
        triton_two_stage(TopkWorkload(seq=5000, topk=300), columns=599)
