"""Attention under the mask, and without one: the same numbers, until a selection holds duplicates."""

from dataclasses import replace

import numpy as np
import pytest

from impls.mask.family import FAMILY, MaskWorkload
from impls.mask.gather_kv import gather_kv
from impls.mask.masked_dense import masked_dense
from tests.impls.jax_case import call, planned
from tests.impls.mask_case import drawn, judged, reference

BOTH = [gather_kv, masked_dense]


@pytest.mark.jax
def test_leaving_the_mask_out_fails_the_contract():
    w = MaskWorkload(rows=4, seq=256, topk=200, head_dim=16, dtype="bf16")
    inputs = drawn(w)
    every = np.broadcast_to(np.arange(256, dtype=np.int32), (1, 4, 256))
    result = call(gather_kv, replace(w, topk=256), {**inputs, "topk_indices": every})
    assert not judged("attended", w, inputs, result).passed


@pytest.mark.jax
def test_a_single_selected_column_is_its_value():
    w = MaskWorkload(rows=3, seq=8, topk=1, head_dim=4)
    inputs = drawn(w)
    inputs["topk_indices"] = np.array([[[5], [0], [7]]], np.int32)
    want = inputs["values"][:, [5, 0, 7]]
    assert np.array_equal(reference("attended", w, inputs), want)
    for variant in BOTH:
        assert np.array_equal(call(variant, w, inputs), want), variant.name


def equal_weights(indices, values):
    """Inputs of one row whose logits are all 0."""
    return {
        "topk_indices": np.array([[indices]], np.int32),
        "queries": np.zeros((1, 1, 1), np.float32),
        "keys": np.ones((1, 4, 1), np.float32),
        "values": np.array(values, np.float32)[None, :, None],
    }


@pytest.mark.jax
def test_a_duplicate_counts_twice_without_a_mask():
    """gather_kv weighs the column that stands twice with 2/3, the mask with 1/2."""
    w, inputs = MaskWorkload(rows=1, seq=4, topk=3, head_dim=1), equal_weights([1, 1, 2], [9, 6, 0, 9])
    assert call(gather_kv, w, inputs).item() == pytest.approx(4)
    assert call(masked_dense, w, inputs).item() == pytest.approx(3)


PAST_THE_END = [(-1, 8, 8), (-4, 5, 5), (4, np.nan, 6), (-5, np.nan, 6), (99, np.nan, 6)]


@pytest.mark.jax
@pytest.mark.parametrize(("index", "gathered", "masked"), PAST_THE_END)
def test_an_index_outside_the_row(index, gathered, masked):
    """The row selects column 1 and one outside."""
    w, inputs = MaskWorkload(rows=1, seq=4, topk=2, head_dim=1), equal_weights([1, index], [4, 6, 8, 10])
    assert call(gather_kv, w, inputs).item() == pytest.approx(gathered, nan_ok=True)
    assert call(masked_dense, w, inputs).item() == pytest.approx(masked)


def test_a_head_leaves_the_other_inputs_alone():
    w = MaskWorkload(batch=2, rows=5, seq=96, topk=7, head_dim=3, dtype="bf16")
    inputs, without = drawn(w), drawn(replace(w, head_dim=0))
    assert set(inputs) - set(without) == {"queries", "keys", "values"}
    assert all(np.array_equal(inputs[name], array) for name, array in without.items())


@pytest.mark.jax
def test_gathering_needs_no_memory_that_grows_with_seq():
    def temporaries(variant, seq):
        w = MaskWorkload(rows=64, seq=seq, topk=256, head_dim=64)
        return planned(variant(w), FAMILY.shapes(w)).memory_analysis().temp_size_in_bytes

    assert temporaries(gather_kv, 65536) == temporaries(gather_kv, 4096)
    assert temporaries(masked_dense, 65536) > 8 * temporaries(masked_dense, 4096)
