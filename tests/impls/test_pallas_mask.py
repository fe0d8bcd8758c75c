"""The mask of a Pallas kernel, interpreted: lengths that no block divides, hidden columns, refusals."""

import pytest

from tests.impls.interpreted import assert_right, interpret

pytestmark = pytest.mark.jax


@pytest.mark.full
def test_lengths_that_no_block_divides(tmp_path):
    """The longest has a second block; 2 · 5 rows are one register of rows and a part of the next."""
    axes = {"rows": "5", "batch": "2", "topk": "30", "dtype": "f32,bf16"}
    assert_right(interpret(tmp_path, "mask", "pallas_scatter", "777,8200", **axes), 4)


@pytest.mark.long
def test_rows_that_see_fewer_columns_than_they_select(tmp_path):
    axes = {"rows": "9", "topk": "300", "causal": "true"}
    assert_right(interpret(tmp_path, "mask", "pallas_scatter[block=256]", "1001", **axes), 1)
