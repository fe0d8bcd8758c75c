"""What the mask variants do with crafted selections: everything their contract does not reach.

Indices outside the row, duplicates, ties at the cutoff, an approximate selection, causal rows
shorter than the selection, and NaN.
"""

import numpy as np
import pytest

from impls.mask.broadcast import broadcast
from impls.mask.family import FAMILY, MaskWorkload
from impls.mask.scatter import scatter
from impls.mask.scatter_flat import scatter_flat
from impls.mask.threshold_exactk import threshold_exactk
from impls.mask.threshold_raw import threshold_raw
from tests.impls import mask_case
from tests.impls.jax_case import call

INDEXED = (broadcast, scatter, scatter_flat)
EXACT = (*INDEXED, threshold_exactk)
ALL = (*EXACT, threshold_raw)
NAMES = [variant.name for variant in ALL]
NEG = np.float32(-0.7 * float(np.finfo(np.float32).max))


def opened(variant, w, **inputs):
    return mask_case.opened(call(variant, w, inputs))


def top(scores, k):
    """The selection of `lax.top_k`, as the family's inputs."""
    import jax

    values, indices = jax.lax.top_k(scores, k)
    return {"scores": scores, "topk_values": np.asarray(values), "topk_indices": np.asarray(indices)}


@pytest.mark.jax
@pytest.mark.parametrize(
    ("index", "opens"),
    [
        # in the middle one of three rows of eight columns: what broadcast, scatter, scatter_flat open
        (-1, ([[0], [2], [0]], [[0], [2, 7], [0]], [[0, 7], [2], [0]])),
        (-8, ([[0], [2], [0]], [[0], [0, 2], [0]], [[0], [2], [0]])),
        (-9, ([[0], [2], [0]], [[0], [2], [0]], [[0], [2], [0, 7]])),
        (8, ([[0], [2], [0]], [[0], [2], [0]], [[0], [2], [0]])),
        (9, ([[0], [2], [0]], [[0], [2], [0]], [[0], [2], [0, 1]])),
        (99, ([[0], [2], [0]], [[0], [2], [0]], [[0], [2], [0]])),
    ],
)
def test_an_index_outside_the_row(index, opens):
    w = MaskWorkload(rows=3, seq=8, topk=2)
    indices = np.array([[[0, 0], [2, index], [0, 0]]], np.int32)
    for variant, want in zip(INDEXED, opens, strict=True):
        assert opened(variant, w, topk_indices=indices) == want, variant.name


@pytest.mark.jax
def test_flat_index_before_the_first_row_opens_the_last_column_of_the_last():
    w = MaskWorkload(rows=2, seq=4, topk=2)
    indices = np.array([[[1, -1], [0, 0]]], np.int32)
    assert opened(scatter_flat, w, topk_indices=indices) == [[1], [0, 3]]


@pytest.mark.jax
@pytest.mark.parametrize("variant", INDEXED, ids=NAMES[:3])
def test_duplicate_indices_open_once(variant):
    w = MaskWorkload(batch=2, rows=128, seq=1024, topk=64)
    indices = np.random.default_rng(0).integers(0, w.seq, (2, 128, 64)).astype(np.int32)
    assert any(len(set(row)) < 64 for row in indices.reshape(-1, 64))
    want = FAMILY.semantics["exact"].reference(w, None)(indices)
    assert np.array_equal(call(variant, w, {"topk_indices": indices}), want)


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
    assert opened(threshold_raw, w, **inputs) == [kept_raw]


@pytest.mark.jax
def test_an_approximate_selection_costs_exactk_the_last_columns():
    # The cutoff is .5 where the third largest is .7: three columns are kept, the first three.
    w = MaskWorkload(rows=1, seq=5, topk=3)
    scores = np.array([[[0.9, 0.8, 0.7, 0.6, 0.5]]], np.float32)
    values, indices = np.array([[[0.9, 0.8, 0.5]]], np.float32), np.array([[[0, 1, 4]]], np.int32)
    inputs = {"scores": scores, "topk_values": values, "topk_indices": indices}
    assert opened(threshold_exactk, w, **inputs) == [[0, 1, 2]]
    assert opened(threshold_raw, w, **inputs) == [[0, 1, 2, 3, 4]]
    assert opened(scatter, w, **inputs) == [[0, 1, 4]]
    # Ascending scores: what is lost is the best and most recent.
    inputs = {**inputs, "scores": scores[..., ::-1].copy(), "topk_indices": np.array([[[4, 3, 0]]], np.int32)}
    assert opened(threshold_exactk, w, **inputs) == [[1, 2, 3]]


def test_masking_a_masked_column_twice_overflows():
    with np.errstate(over="ignore"):
        assert np.isneginf(NEG + NEG)
    assert np.float32(NEG + np.float32(1.5)) == NEG


@pytest.mark.jax
def test_a_nan_takes_a_place_of_the_selection():
    w = MaskWorkload(rows=1, seq=5, topk=3)
    inputs = top(np.array([[[0.1, np.nan, 0.9, 0.8, 0.2]]], np.float32), 3)
    for variant in INDEXED:
        assert opened(variant, w, **inputs) == [[1, 2, 3]], variant.name
    for variant in (threshold_exactk, threshold_raw):
        assert opened(variant, w, **inputs) == [[2, 3]], variant.name
    # As the least of the selection a NaN is the cutoff, which no score reaches.
    inputs["topk_values"] = np.array([[[0.9, 0.8, np.nan]]], np.float32)
    for variant in (threshold_exactk, threshold_raw):
        assert opened(variant, w, **inputs) == [[]], variant.name
