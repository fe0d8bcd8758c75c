"""The mask in other forms: packed into words, and by blocks."""

import numpy as np
import pytest

from impls.mask.bit_packed import bit_packed
from impls.mask.block_granular import block_granular
from impls.mask.family import FAMILY, MaskWorkload
from tests.impls.jax_case import call
from tests.impls.mask_case import columns, judged


@pytest.mark.jax
def test_words_known_by_heart():
    w = MaskWorkload(rows=1, seq=70, topk=4)
    indices = np.array([[[33, 0, 31, 69]]], np.int32)
    want = [[[0x8000_0001, 0x2, 0x20]]]
    assert FAMILY.semantics["packed"].reference(w, None)(indices).tolist() == want
    got = call(bit_packed, w, {"topk_indices": indices})
    assert got.dtype == np.uint32
    assert got.tolist() == want


@pytest.mark.jax
def test_blocks_known_by_heart():
    w = MaskWorkload(rows=1, seq=300, topk=3)
    result = call(block_granular, w, {"topk_indices": np.array([[[299, 127, 0]]], np.int32)})
    assert result["held"].tolist() == [[[True, False, True]]]
    assert result["inside"].shape == (1, 1, 3, 128)
    assert np.argwhere(result["inside"][0, 0]).tolist() == [[0, 0], [0, 127], [2, 43]]


@pytest.mark.jax
@pytest.mark.parametrize("index", [-1, -40, -41, 40, 41, 63, 127, 128, 999])
def test_an_index_outside_the_row_opens_nothing_where_indices_are_promised_unique(index):
    """Of all other forms test_mask_agree.py says so."""
    w = MaskWorkload(rows=3, seq=40, topk=2)
    inputs = {"topk_indices": np.array([[[3, 4], [index, 5], [6, 39]]], np.int32)}
    assert columns(call(bit_packed, w, inputs, unique=True), w.seq) == [[3, 4], [5], [6, 39]]


@pytest.mark.jax
def test_a_bit_added_twice_carries_into_the_next_column():
    """What the sort of bit_packed is for, and why `unique` is a promise."""
    w = MaskWorkload(rows=1, seq=64, topk=4)
    inputs = {"topk_indices": np.array([[[5, 31, 5, 31]]], np.int32)}
    assert columns(call(bit_packed, w, inputs), w.seq) == [[5, 31]]
    broken = call(bit_packed, w, inputs, unique=True)
    assert columns(broken, w.seq) == [[6]]  # 31's carry is lost with the word
    assert not judged("packed", w, inputs, broken).passed
