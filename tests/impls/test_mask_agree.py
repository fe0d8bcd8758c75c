"""What the mask variants do with crafted selections: everything their contract does not reach.

Any indices at all, inside the row or not; ties at the cutoff, an approximate selection, NaN; words and
blocks by hand; and what XLA plans for each at the published shapes.
"""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from impls.mask.bit_packed import bit_packed
from impls.mask.block_granular import block_granular
from impls.mask.family import FAMILY, MaskWorkload
from tests.impls import mask_case
from tests.impls.jax_case import call, planned
from tests.impls.mask_case import columns, judged
from tests.impls.torch_case import tensor
from tests.impls.variants import MASK as V

SEQ = 45
W = MaskWorkload(rows=2, seq=SEQ, topk=5)
ALL = [
    *((V.broadcast_chunked, {"chunk": chunk}) for chunk in (1, 2, 5)),
    *((V.onehot_gemm, options) for options in ({}, {"width": 7}, {"width": 9999})),
    *((variant, {}) for variant in (V.broadcast, V.scatter_sorted, V.bit_packed, V.block_granular)),
]
rows = st.lists(st.integers(-2 * SEQ, 2 * SEQ), min_size=5, max_size=5)


def open_columns(variant, indices, **options):
    return [set(row) for row in columns(call(variant, W, {"topk_indices": indices}, **options), SEQ)]


@pytest.mark.jax
@settings(max_examples=25, deadline=None)
@given(first=rows, second=rows)
@example(first=[-1, -SEQ, -SEQ - 1, SEQ, SEQ + 1], second=[2, 63, 64, 127, 128])  # ends of words and blocks
@example(first=[3, 3, 3, 3, 3], second=[31, 31, 32, 32, 999])
def test_only_columns_of_the_row_open_once_but_scatters_wrap(first, second):
    """`scatter` within the row, `scatter_flat` within all: −1 of the first row is the last of the last."""
    indices = np.array([[first, second]], np.int32)
    for variant, options in ALL:
        inside = [{i for i in row if 0 <= i < SEQ} for row in (first, second)]
        assert open_columns(variant, indices, **options) == inside, (variant.name, options)
    wrapped = [{i % SEQ for i in row if -SEQ <= i < SEQ} for row in (first, second)]
    assert open_columns(V.scatter, indices) == wrapped
    size = 2 * SEQ
    flat = [i + begin for row, begin in ((first, 0), (second, SEQ)) for i in row]
    places = {place % size for place in flat if -size <= place < size}
    assert open_columns(V.scatter_flat, indices) == [
        {place - begin for place in places if 0 <= place - begin < SEQ} for begin in (0, SEQ)
    ]


@pytest.mark.jax
@pytest.mark.parametrize(
    ("variant", "options", "large", "small"),
    [
        (V.scatter_sorted, {}, 40, 0.3125),  # a scatter of sorted indices, compiled alone beforehand
        (V.bit_packed, {"unique": True}, 32, 0.25),  # scatter's, which has three index arrays too
    ],
)
def test_temporaries_known_beforehand(variant, options, large, small):
    shapes = [MaskWorkload(rows=1024, seq=131072), MaskWorkload(batch=2, rows=128, seq=1024, topk=64)]
    for w, mib in zip(shapes, (large, small), strict=True):
        program = planned(variant(w, **options), FAMILY.shapes(w))
        assert program.memory_analysis().temp_size_in_bytes == pytest.approx(mib * 2**20, rel=0.1)


@pytest.mark.jax
def test_the_plain_one_hot_sum_is_planned_whole():
    """2 · rows · topk · seq FLOPs, and a one-hot element for each of rows · topk · seq: 1 TiB in f32."""
    w = MaskWorkload(rows=1024, seq=131072)
    program = planned(V.onehot_gemm(w, width=w.seq), FAMILY.shapes(w))
    elements = 1024 * 2048 * 131072
    assert program.memory_analysis().temp_size_in_bytes == pytest.approx(4 * elements, rel=0.01)
    assert program.cost_analysis()["flops"] == pytest.approx(4 * elements, rel=0.01)  # with its making


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
    """Of all other forms the test of every form says so."""
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
