"""What every form opens for any indices at all, and what XLA plans for each at the published shapes."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from impls.mask.family import FAMILY, MaskWorkload
from tests.impls.jax_case import call, planned
from tests.impls.mask_case import columns
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
