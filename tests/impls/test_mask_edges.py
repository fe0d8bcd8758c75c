"""What the mask variants do with crafted selections: everything their contract does not reach.

Indices outside the row, duplicates, ties at the cutoff, an approximate selection, causal rows
shorter than the selection, and NaN.
"""

import numpy as np
import pytest

from impls.mask.family import MaskWorkload
from tests.impls import mask_case
from tests.impls.jax_case import call
from tests.impls.torch_case import tensor
from tests.impls.variants import MASK as V

INDEXED = (V.broadcast, V.scatter, V.scatter_flat)
EXACT = (*INDEXED, V.threshold_exactk)


def opened(variant, w, **inputs):
    return mask_case.opened(call(variant, w, inputs))


def top(scores, k):
    """The selection of `lax.top_k`, as the family's inputs."""
    import jax

    values, indices = jax.lax.top_k(scores, k)
    return {"scores": scores, "topk_values": np.asarray(values), "topk_indices": np.asarray(indices)}


@pytest.mark.jax
@pytest.mark.parametrize(
    ("scores", "kept", "kept_raw"),
    [
        ([0.9, 0.8, 0.5, 0.5, 0.1, 0.0], [0, 1, 2], [0, 1, 2, 3]),
        ([0.5, 0.5, 0.9, 0.8, 0.1, 0.0], [0, 2, 3], [0, 1, 2, 3]),
        ([0.5, 0.5, 0.5, 0.9, 0.1, 0.0], [0, 1, 3], [0, 1, 2, 3]),
        ([0.7] * 6, [0, 1, 2], [0, 1, 2, 3, 4, 5]),
        ([0.3, 0.9, 0.8, 0.1, 0.2, 0.0], [0, 1, 2], [0, 1, 2]),
    ],
)
def test_ties_at_the_cutoff(scores, kept, kept_raw):
    w = MaskWorkload(rows=1, seq=6, topk=3)
    inputs = top(np.array([[scores]], np.float32), 3)
    for variant in EXACT:
        assert opened(variant, w, **inputs) == [kept], variant.name
    assert opened(V.threshold_raw, w, **inputs) == [kept_raw]


@pytest.mark.jax
def test_an_approximate_selection_costs_exactk_the_last_columns():
    # The cutoff is .5 where the third largest is .7: three columns are kept, the first three.
    w = MaskWorkload(rows=1, seq=5, topk=3)
    scores = np.array([[[0.9, 0.8, 0.7, 0.6, 0.5]]], np.float32)
    values, indices = np.array([[[0.9, 0.8, 0.5]]], np.float32), np.array([[[0, 1, 4]]], np.int32)
    inputs = {"scores": scores, "topk_values": values, "topk_indices": indices}
    assert opened(V.threshold_exactk, w, **inputs) == [[0, 1, 2]]
    assert opened(V.threshold_raw, w, **inputs) == [[0, 1, 2, 3, 4]]
    assert opened(V.scatter, w, **inputs) == [[0, 1, 4]]
    # Ascending scores: what is lost is the best and most recent.
    inputs = {**inputs, "scores": scores[..., ::-1].copy(), "topk_indices": np.array([[[4, 3, 0]]], np.int32)}
    assert opened(V.threshold_exactk, w, **inputs) == [[1, 2, 3]]


@pytest.mark.jax
def test_a_nan_takes_a_place_of_the_selection():
    w = MaskWorkload(rows=1, seq=5, topk=3)
    inputs = top(np.array([[[0.1, np.nan, 0.9, 0.8, 0.2]]], np.float32), 3)
    for variant in INDEXED:
        assert opened(variant, w, **inputs) == [[1, 2, 3]], variant.name
    for variant in (V.threshold_exactk, V.threshold_raw):
        assert opened(variant, w, **inputs) == [[2, 3]], variant.name
    # As the least of the selection a NaN is the cutoff, which no score reaches.
    inputs["topk_values"] = np.array([[[0.9, 0.8, np.nan]]], np.float32)
    for variant in (V.threshold_exactk, V.threshold_raw):
        assert opened(variant, w, **inputs) == [[]], variant.name


@pytest.mark.torch
@pytest.mark.parametrize("index", [-1, -8, 8])
def test_torch_scatter_raises_outside_the_row(index):
    w = MaskWorkload(rows=1, seq=8, topk=2)
    with pytest.raises((RuntimeError, IndexError), match="out of bounds"):
        V.torch_scatter(w)(tensor(np.array([[[2, index]]], np.int32)))


@pytest.mark.torch
def test_torch_scatter_opens_duplicates_once():
    w = MaskWorkload(rows=1, seq=8, topk=3)
    assert mask_case.opened(V.torch_scatter(w)(tensor(np.array([[[2, 5, 2]]], np.int32))).numpy()) == [[2, 5]]
