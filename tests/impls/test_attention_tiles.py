"""Sparse attention by tiles in numba: bits, NaN, FLOPs of its operator, and its power function."""

import dataclasses
import importlib.util

import numpy as np
import pytest

from harness import Unsupported
from impls.attention.family import FAMILY, AttentionWorkload
from tests.impls.attention_by_hand import drawn
from tests.impls.torch_case import run, tensors
from tests.impls.variants import ATTENTION as V

pytest.importorskip("numba", reason="pip install -e '.[numba]'")
pytestmark = pytest.mark.torch

SMALL = AttentionWorkload(
    seq=640, batch=2, heads=4, kv_heads=2, head_dim=16, block=16, selected=4, window=70, tile=256
)


def of(**fields):
    return dataclasses.replace(SMALL, **fields)


def test_one_thread_and_three_give_the_same_bits():
    import torch

    inputs, answers, before = drawn(SMALL), [], torch.get_num_threads()
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            answers.append(run(V.nsa_mslk_tiles(SMALL), inputs))
    finally:
        torch.set_num_threads(before)
    np.testing.assert_array_equal(*answers)


def test_nan_stays_nan():
    inputs = drawn(SMALL)
    inputs["q"][0, 300, 2] = np.nan
    bad = np.isnan(run(V.nsa_mslk_tiles(SMALL), inputs))
    # Its tile's mean score is also NaN, so the selection is undefined; its own row must be NaN.
    assert bad[0, 300, 2].all()
    assert not bad[0, :256].any()
    assert not bad[1].any()


@pytest.mark.parametrize("width", [1, 16, 2048])
def test_large_scores_have_a_softmax(width):
    w = of(head_dim=width, seq=256, selected=1)
    inputs = drawn(w)
    inputs["q"] *= 1e6
    inputs["k"] *= 1e6
    assert np.isfinite(run(V.nsa_mslk_tiles(w), inputs)).all()


def test_flops_are_the_products_that_are_made():
    """Two heads 8 wide, 512 queries in two tiles: keys that a part reads, times its queries, times 4·8."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    w = AttentionWorkload(seq=512, heads=2, kv_heads=1, head_dim=8, block=64, selected=3, window=128)
    compressed = 256 * 4 + 256 * 8
    selected = 2 * 256 * 3 * 64
    window = 64 * (64 + 128 + 6 * 191)
    inputs = tensors(drawn(w))
    with torch.no_grad(), FlopCounterMode(display=False) as counted:
        V.nsa_mslk_tiles(w)(**inputs)
    by_operator = {str(name): flops for name, flops in counted.get_flop_counts()["Global"].items()}
    assert by_operator["seqsweep.attend_tiles"] == 2 * 4 * 8 * (compressed + selected + window)


def test_the_power_is_exact_to_f32s_rounding():
    from impls.attention._numba_tiles import kernel

    x = np.linspace(-126.4, 0, 20_001, dtype=np.float32)
    found = np.array([kernel._power_of_two(each) for each in x], np.float64)
    wanted = np.exp2(x.astype(np.float64))
    assert np.max(np.abs(found - wanted) / wanted) < 2**-22
    assert kernel._power_of_two(np.float32(-1000)) == 0
    assert kernel._power_of_two(np.float32(0)) == 1
    assert np.isnan(kernel._power_of_two(np.float32(np.nan)))


def test_without_numba_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, **_: None if name == "numba" else importlib)
    monkeypatch.setattr("impls.attention.mslk.nsa_mslk_tiles.find_spec", importlib.util.find_spec)
    with pytest.raises(Unsupported, match=r"threadpoolctl is not installed; pip install -e '\.\[numba\]'"):
        V.nsa_mslk_tiles(SMALL)


@pytest.mark.parametrize("parts", [4, pytest.param(128, marks=pytest.mark.long)])
def test_is_traced_over_fake_tensors(parts):
    """For several parts of the selection, whose shapes depend only on the length, and up to 1Mi tokens."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    from impls.attention._numba_tiles.operator import TILES_SCORED

    w = of(batch=1, seq=parts * TILES_SCORED * SMALL.tile, block=64, selected=16, window=512)
    with FakeTensorMode():
        inputs = {name: torch.empty(x.shape) for name, x in FAMILY.shapes(w).items()}
        assert V.nsa_mslk_tiles(w)(**inputs).shape == (1, w.seq, 4, 16)
