"""MLA in Triton, interpreted: lengths that no block divides, and the forms that decode and prefill have."""

import pytest

from tests.impls.interpreted import KERNELS, assert_right, interpret

pytestmark = KERNELS
NARROW = {"phase": "decode", "nope": "16", "v": "24"}
SHORT = {"phase": "prefill", "nope": "24", "rope": "8", "v": "40"}


@pytest.mark.long
def test_lengths_that_no_block_divides(tmp_path):
    """Parts of several blocks, a last one that is cut, and a single key; `rope` narrower than a product."""
    records = interpret(
        tmp_path, "mla", "triton_decode", "1,333", dtype="f32,bf16", rope="8", batch="2", **NARROW
    )
    assert_right(records, 4)


@pytest.mark.long
@pytest.mark.parametrize("heads", ["8", "24"])
def test_heads_that_no_program_divides(tmp_path, heads):
    """Fewer than a program has rows, as where a model's heads divide over devices; and some left over."""
    axes = {"heads": heads, "batch": "2", "dtype": "bf16", **NARROW}
    records = interpret(tmp_path, "mla", "triton_decode", "70", **axes)
    assert_right(records, 1)


@pytest.mark.full
def test_a_latent_that_is_no_tile_is_refused(tmp_path):
    (record,) = interpret(tmp_path, "mla", "triton_decode", "64", kv_lora_rank="96", **NARROW)
    assert record["status"] == "unsupported"
    assert "kv_lora_rank 96" in record["reason"]


@pytest.mark.full
def test_a_paged_cache(tmp_path):
    """Pages that no block of keys divides, a last one that is cut, and sequences whose pages lie mixed."""
    axes = {"dtype": "f32,bf16", "rope": "8", "batch": "2", "page": "24", **NARROW}
    assert_right(interpret(tmp_path, "mla", "triton_paged_decode", "1,130", **axes), 4)


@pytest.mark.long
def test_weights_of_eight_bits_and_queries_of_a_latent(tmp_path):
    records = interpret(
        tmp_path, "mla", "triton_decode", "100", q_lora="on", weights="fp8_block", mscale="true", **NARROW
    )
    assert_right(records, 1)


@pytest.mark.long
def test_a_short_prefill(tmp_path):
    """A token alone, and one more than two tiles of the larger kind; every width narrower than its tile."""
    assert_right(interpret(tmp_path, "mla", "triton_prefill", "1,129", dtype="f32,bf16", **SHORT), 4)


@pytest.mark.long
def test_a_short_prefill_at_the_models_widths(tmp_path):
    """In f64, too, and with queries of a latent, larger scores and weights of eight bits."""
    records = interpret(tmp_path, "mla", "triton_prefill", "77", dtype="f64,f32,bf16,f16", phase="prefill")
    assert_right(records, 4)
    forms = {"q_lora": "on", "mscale": "true", "rope_scaling": "yarn", "weights": "fp8_block"}
    assert_right(interpret(tmp_path, "mla", "triton_prefill", "33", phase="prefill", **forms), 1)
    every_key = interpret(tmp_path, "mla", "triton_prefill", "129", batch="2", causal="false", **SHORT)
    assert_right(every_key, 1)


@pytest.mark.long
def test_a_short_prefill_has_no_backward(tmp_path):
    (record,) = interpret(tmp_path, "mla", "triton_prefill", "64", "--mode", "fwd_bwd", **SHORT)
    assert record["status"] == "unsupported"
    assert "use mode fwd" in record["reason"]


@pytest.mark.long
def test_a_prefill_is_refused(tmp_path):
    (record,) = interpret(tmp_path, "mla", "triton_decode", "64", phase="prefill")
    assert record["status"] == "unsupported"
    assert "phase=decode" in record["reason"]
