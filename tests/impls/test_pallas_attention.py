"""jax's attention kernels for TPUs and for GPUs, interpreted: grouped heads, packing, gradients, refusals."""

import pytest

from harness import Unsupported
from impls.attention.dense.pallas_flash import pallas_flash
from impls.attention.dense.pallas_mha import pallas_mha
from impls.attention.dense.pallas_splash import pallas_splash
from impls.attention.workload import AttentionWorkload
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


@pytest.mark.parametrize("build", [pallas_flash, pallas_splash], ids=NAMES[:2])
def test_what_they_cannot_take_is_refused(build):
    with pytest.raises(Unsupported, match="blocks of 128 keys must divide it"):
        build(AttentionWorkload(seq=500))
    with pytest.raises(Unsupported, match="beyond 128 a head is whole registers"):
        build(AttentionWorkload(seq=512, head_dim=160))
    with pytest.raises(Unsupported, match="multiplies bf16 and f32"):
        build(AttentionWorkload(seq=512, dtype="f64"))


def test_blocks_of_the_one_for_gpus_tile_the_tokens():
    with pytest.raises(Unsupported, match="use a power of two from 16 on that divides them"):
        pallas_mha(AttentionWorkload(seq=500))
    with pytest.raises(Unsupported, match="its sums are f32's"):
        pallas_mha(AttentionWorkload(seq=512, dtype="f64"))


@pytest.mark.parametrize("block", [0, 200])
def test_a_block_is_whole_registers(block):
    with pytest.raises(Unsupported, match="lanes come in 128s"):
        pallas_splash(AttentionWorkload(seq=512), block=block)
