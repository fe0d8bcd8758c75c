"""Further ways to the exact mask: what their options refuse, and torch's own scatter."""

import numpy as np
import pytest

from harness import Unsupported
from impls.mask.broadcast_chunked import broadcast_chunked
from impls.mask.family import MaskWorkload
from impls.mask.onehot_gemm import onehot_gemm
from impls.mask.torch_scatter import torch_scatter
from tests.impls.mask_case import drawn, judged, opened
from tests.impls.torch_case import tensor


def test_counting_exactly_one_would_lose_duplicates():
    """Why onehot_gemm asks for more than 0."""
    w = MaskWorkload(rows=1, seq=4, topk=3)
    indices = np.array([[[1, 2, 2]]], np.int32)
    counts = (indices[..., None] == np.arange(4)).sum(axis=-2)
    broken = np.where(counts == 1, np.float32(0), np.float32(-1))
    assert opened(broken) == [[1]]
    assert not judged("exact", w, {"topk_indices": indices}, broken).passed


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["f32", "bf16", "f64"])
def test_torch_scatter_meets_its_contract(dtype):
    import torch

    w = MaskWorkload(batch=2, rows=3, seq=257, topk=9, dtype=dtype)
    inputs = drawn(w)
    made = torch_scatter(w)(tensor(inputs["topk_indices"]))
    assert made.dtype == {"f32": torch.float32, "bf16": torch.bfloat16, "f64": torch.float64}[dtype]
    judgement = judged("exact", w, inputs, made.double().numpy())  # widening is exact
    assert judgement.passed, judgement.reason


@pytest.mark.torch
@pytest.mark.parametrize("index", [-1, -8, 8])
def test_torch_scatter_raises_outside_the_row(index):
    w = MaskWorkload(rows=1, seq=8, topk=2)
    with pytest.raises((RuntimeError, IndexError), match="out of bounds"):
        torch_scatter(w)(tensor(np.array([[[2, index]]], np.int32)))


@pytest.mark.torch
def test_torch_scatter_opens_duplicates_once():
    w = MaskWorkload(rows=1, seq=8, topk=3)
    assert opened(torch_scatter(w)(tensor(np.array([[[2, 5, 2]]], np.int32))).numpy()) == [[2, 5]]


def test_refused_options():
    w = MaskWorkload(seq=64, topk=8)
    with pytest.raises(Unsupported, match="chunk 0"):
        broadcast_chunked(w, chunk=0)
    with pytest.raises(Unsupported, match="chunk 9 is no part of topk 8"):
        broadcast_chunked(w, chunk=9)
    with pytest.raises(Unsupported, match="width 0"):
        onehot_gemm(w, width=0)
