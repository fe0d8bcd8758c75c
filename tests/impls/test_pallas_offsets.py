"""`offsets/pallas_scan`, interpreted: every kind and layout, sides of other lengths, a window refused."""

import pytest

from tests.impls.interpreted import assert_right, interpret

pytestmark = pytest.mark.jax


@pytest.mark.full
def test_runs_that_blocks_cut(tmp_path):
    axes = {"kind": "causal,bottom_right,padding", "layout": "intra_padding", "batch": "2"}
    assert_right(interpret(tmp_path, "offsets", "pallas_scan", "777", **axes), 3)


@pytest.mark.long
@pytest.mark.parametrize("layout", ["self", "cross", "absent", "striped"])
def test_every_layout(tmp_path, layout):
    axes = {"kind": "causal,bottom_right,padding", "layout": layout, "max_segments": "7,16"}
    assert_right(interpret(tmp_path, "offsets", "pallas_scan[block=256]", "1300", **axes), 6)


@pytest.mark.long
def test_sides_of_other_lengths(tmp_path):
    axes = {"kind": "bottom_right,causal", "layout": "cross", "seq_kv": "1500"}
    assert_right(interpret(tmp_path, "offsets", "pallas_scan", "300", **axes), 2)
