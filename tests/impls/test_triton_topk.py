"""Radix select in Triton, interpreted: rows of odd lengths, equal scores, and rows cut in slices."""

import pytest

from harness import Unsupported
from impls.topk.exact.triton_two_stage import _even, triton_two_stage
from impls.topk.family import TopkWorkload
from tests.impls.interpreter_case import assert_contracts_hold

pytest.importorskip("triton", exc_type=ImportError)
pytestmark = [pytest.mark.torch, pytest.mark.full]


@pytest.mark.parametrize("distribution", ["iid", "tied", "causal"])
def test_the_largest_are_selected(tmp_path, distribution):
    words = ("--impl", "triton_radix_select,triton_two_stage[columns=600]", "--seq", "1777")
    words += ("--set", "dtype=f32,bf16", "--set", "topk=100", "--set", "rows=2")
    assert_contracts_hold(tmp_path, "topk", *words, "--set", f"distribution={distribution}", cases=4)


def test_half_and_double_precision(tmp_path):
    words = ("--impl", "triton_radix_select,triton_two_stage[columns=4096]", "--seq", "4099")
    words += ("--set", "dtype=f16,f64", "--set", "topk=2048", "--set", "rows=2")
    assert_contracts_hold(tmp_path, "topk", *words, cases=4)


def test_every_slice_holds_as_many_as_are_kept():
    for seq in (601, 1201, 1799, 5000, 99991):
        w = TopkWorkload(seq=seq, topk=300)
        size = _even(w, 600)
        slices = -(-seq // size)
        assert seq - (slices - 1) * size >= w.topk
    with pytest.raises(Unsupported, match="use 600 or more"):
        triton_two_stage(TopkWorkload(seq=5000, topk=300), columns=599)
