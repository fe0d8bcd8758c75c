"""What every form opens for any indices at all, and what XLA plans for each at the published shapes."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impls.mask.bit_packed import bit_packed
from impls.mask.block_granular import block_granular
from impls.mask.broadcast import broadcast
from impls.mask.broadcast_chunked import broadcast_chunked
from impls.mask.family import MaskWorkload
from impls.mask.onehot_gemm import onehot_gemm
from impls.mask.scatter import scatter
from impls.mask.scatter_sorted import scatter_sorted
from tests.impls.jax_case import jit

SEQ = 45
W = MaskWorkload(rows=2, seq=SEQ, topk=5)
DENSE = [
    (broadcast, {}),
    (broadcast_chunked, {"chunk": 2}),
    (onehot_gemm, {"width": 8}),
    (scatter_sorted, {}),
]
rows = st.lists(st.integers(-2 * SEQ, 2 * SEQ), min_size=5, max_size=5)


@cache
def compiled(place):

    variant, options = [*DENSE, (scatter, {}), (bit_packed, {}), (block_granular, {})][place]
    return jit(variant(W, **options))


def open_columns(place, indices):
    made = compiled(place)(topk_indices=indices)
    if isinstance(made, dict):
        assert np.array_equal(made["held"], np.asarray(made["inside"]).any(axis=-1))
        bits = np.asarray(made["inside"]).reshape(2, -1)
    elif made.dtype == np.uint32:
        words = np.asarray(made).astype("<u4").reshape(2, -1)
        bits = np.unpackbits(words.view(np.uint8), axis=-1, bitorder="little")
    else:
        bits = np.asarray(made).reshape(2, SEQ) == 0
    return [set(np.flatnonzero(row).tolist()) for row in bits]


@pytest.mark.jax
@settings(max_examples=40, deadline=None)
@given(first=rows, second=rows)
def test_only_columns_of_the_row_open_and_scatter_also_wraps(first, second):
    indices = np.array([[first, second]], np.int32)
    inside = [{i for i in row if 0 <= i < SEQ} for row in (first, second)]
    wrapped = [{i % SEQ for i in row if -SEQ <= i < SEQ} for row in (first, second)]
    for place, (variant, _) in enumerate(DENSE):
        assert open_columns(place, indices) == inside, variant.name
    assert open_columns(4, indices) == wrapped
    assert open_columns(5, indices) == inside
    assert open_columns(6, indices) == inside


@pytest.mark.jax
@pytest.mark.parametrize(
    ("variant", "options", "large", "small"),
    [
        (scatter_sorted, {}, 40, 0.3125),  # a scatter of sorted indices, compiled alone beforehand
        (bit_packed, {"unique": True}, 32, 0.25),  # scatter's, which has three index arrays too
    ],
)
def test_temporaries_known_beforehand(variant, options, large, small):
    import jax

    shapes = [MaskWorkload(rows=1024, seq=131072), MaskWorkload(batch=2, rows=128, seq=1024, topk=64)]
    for w, mib in zip(shapes, (large, small), strict=True):
        indices = jax.ShapeDtypeStruct((w.batch, w.rows, w.topk), "int32")
        program = jit(variant(w, **options)).lower(topk_indices=indices).compile()
        assert program.memory_analysis().temp_size_in_bytes == pytest.approx(mib * 2**20, rel=0.1)


@pytest.mark.jax
def test_the_plain_one_hot_sum_is_planned_whole():
    """2 · rows · topk · seq FLOPs, and a one-hot element for each of rows · topk · seq: 1 TiB in f32."""
    import jax

    w = MaskWorkload(rows=1024, seq=131072)
    indices = jax.ShapeDtypeStruct((1, 1024, 2048), "int32")
    program = jit(onehot_gemm(w, width=w.seq)).lower(topk_indices=indices).compile()
    elements = 1024 * 2048 * 131072
    assert program.memory_analysis().temp_size_in_bytes == pytest.approx(4 * elements, rel=0.01)
    assert program.cost_analysis()["flops"] == pytest.approx(4 * elements, rel=0.01)  # with its making
