"""`mla/triton_decode`, interpreted: lengths that no block divides, and the forms that a decode can have."""

import pytest

from tests.impls.interpreted import KERNELS, assert_right, interpret

pytestmark = KERNELS
NARROW = {"phase": "decode", "nope": "16", "v": "24"}


@pytest.mark.full
def test_lengths_that_no_block_divides(tmp_path):
    """Parts of several blocks, a last one that is cut, and a single key; `rope` narrower than a product."""
    records = interpret(
        tmp_path, "mla", "triton_decode", "1,333", dtype="f32,bf16", rope="8", batch="2", **NARROW
    )
    assert_right(records, 4)


@pytest.mark.long
def test_weights_of_eight_bits_and_queries_of_a_latent(tmp_path):
    records = interpret(
        tmp_path, "mla", "triton_decode", "100", q_lora="on", weights="fp8_block", mscale="true", **NARROW
    )
    assert_right(records, 1)


@pytest.mark.long
def test_a_prefill_is_refused(tmp_path):
    (record,) = interpret(tmp_path, "mla", "triton_decode", "64", phase="prefill")
    assert record["status"] == "unsupported"
    assert "phase=decode" in record["reason"]
