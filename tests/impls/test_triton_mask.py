"""The masks of Triton kernels, interpreted: lengths that no block divides, ties, and hidden columns."""

import pytest

from tests.impls.interpreted import KERNELS, assert_right, interpret

pytestmark = KERNELS
SMALL = {"rows": "2", "topk": "300"}  # a chunk of indices that is cut


@pytest.mark.full
@pytest.mark.parametrize("name", ["triton_scatter", "triton_threshold"])
def test_lengths_that_no_block_divides(tmp_path, name):
    """In bf16 scores tie at the cutoff; the longest has a second block."""
    records = interpret(tmp_path, "mask", name, "777,8200", dtype="f32,bf16", **SMALL)
    assert_right(records, 4)


@pytest.mark.long
@pytest.mark.parametrize("name", ["triton_scatter", "triton_threshold"])
def test_rows_that_see_fewer_columns_than_they_select(tmp_path, name):
    records = interpret(tmp_path, "mask", name, "1000", dtype="f64", causal="true", **SMALL)
    assert_right(records, 1)


@pytest.mark.long
def test_more_indices_than_a_chunk(tmp_path):
    assert_right(interpret(tmp_path, "mask", "triton_scatter", "2049", rows="2", topk="1500"), 1)
