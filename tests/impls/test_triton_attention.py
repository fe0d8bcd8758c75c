"""Attention in Triton, interpreted: grouped heads, and widths and lengths that no block divides."""

import pytest

from tests.impls.interpreted import KERNELS, assert_right, interpret

pytestmark = KERNELS


@pytest.mark.full
def test_causal(tmp_path):
    """129: one query beyond the tiles of each dtype."""
    axes = {"dtype": "f32,bf16", "head_dim": "24", "heads": "2", "kv_heads": "1", "gated": "false"}
    assert_right(interpret(tmp_path, "attention", "triton_flash", "129", "--mode", "fwd_bwd", **axes), 2)


@pytest.mark.long
@pytest.mark.parametrize("mode", ["fwd", "bwd"])
def test_all_keys_of_a_batch(tmp_path, mode):
    axes = {
        "dtype": "f64,f16",
        "causal": "false",
        "heads": "4",
        "kv_heads": "2",
        "batch": "2",
        "gated": "false",
    }
    assert_right(interpret(tmp_path, "attention", "triton_flash", "77", "--mode", mode, **axes), 2)


@pytest.mark.long
def test_the_kernel_that_inductor_writes(tmp_path):
    axes = {"dtype": "f32,bf16", "head_dim": "24", "heads": "2", "kv_heads": "1", "gated": "false"}
    assert_right(interpret(tmp_path, "attention", "triton_flex", "129", "--mode", "fwd", **axes), 2)


@pytest.mark.long
def test_the_kernel_that_inductor_writes_without_a_mask(tmp_path):
    axes = {"causal": "false", "batch": "2", "heads": "4", "kv_heads": "2", "gated": "false"}
    assert_right(interpret(tmp_path, "attention", "triton_flex", "77", "--mode", "fwd", **axes), 1)
