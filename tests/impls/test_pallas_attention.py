"""jax's attention kernels for TPUs and for GPUs, interpreted: grouped heads, packing, gradients, refusals."""

import pytest

from tests.impls.interpreted import assert_right, interpret

pytestmark = pytest.mark.jax
NAMES = ["pallas_flash", "pallas_splash", "pallas_mha"]
GROUPED = {"heads": "4", "kv_heads": "2", "gated": "false", "head_dim": "64"}


@pytest.mark.full
@pytest.mark.parametrize("name", NAMES)
def test_grouped_heads(tmp_path, name):
    axes = {**GROUPED, "dtype": "f32,bf16"}
    assert_right(interpret(tmp_path, "attention", name, "384", **axes), 2)


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_gradients(tmp_path, name):
    axes = {**GROUPED, "dtype": "f32,bf16", "head_dim": "128", "batch": "2"}
    assert_right(interpret(tmp_path, "attention", name, "256", "--mode", "fwd_bwd", **axes), 2)


@pytest.mark.long
def test_given_blocks(tmp_path):
    axes = {
        **GROUPED,
        "stage": "given_blocks",
        "block": "16",
        "selected": "4",
        "dtype": "f32,bf16",
        "batch": "2",
    }
    name = "pallas_given_blocks_splash"
    assert_right(interpret(tmp_path, "attention", name, "256", "--mode", "fwd_bwd", **axes), 2)


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_packed_sequences(tmp_path, name):
    assert_right(interpret(tmp_path, "attention", name, "256", **GROUPED, varlen="true"), 1)


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_all_keys(tmp_path, name):
    assert_right(interpret(tmp_path, "attention", name, "256", **GROUPED, causal="false"), 1)
