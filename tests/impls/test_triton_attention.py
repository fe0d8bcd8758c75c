"""Flash attention in Triton, interpreted: grouped heads, and widths and lengths that no block divides."""

import pytest

from harness import Unsupported
from impls.attention.dense.triton_flash import triton_flash
from impls.attention.family import AttentionWorkload
from tests.impls.interpreter_case import assert_contracts_hold

pytest.importorskip("triton", exc_type=ImportError)
pytestmark = [pytest.mark.torch, pytest.mark.full]
FLASH = ("--impl", "triton_flash", "--set", "gated=false")
GROUPED = ("--set", "heads=4", "--set", "kv_heads=2")
PAIR = ("--set", "heads=2", "--set", "kv_heads=1")


@pytest.mark.parametrize("mode", ["fwd", "fwd_bwd"])
def test_causal(tmp_path, mode):
    """129: one query beyond the tiles of each dtype."""
    words = ("--seq", "129", "--mode", mode, "--set", "dtype=f32,bf16", "--set", "head_dim=24")
    assert_contracts_hold(tmp_path, "attention", *FLASH, *PAIR, *words, cases=2)


@pytest.mark.parametrize("mode", ["fwd", "bwd"])
def test_all_keys_of_a_batch(tmp_path, mode):
    words = ("--seq", "77", "--mode", mode, "--set", "dtype=f64,f16", "--set", "causal=false")
    assert_contracts_hold(tmp_path, "attention", *FLASH, *GROUPED, *words, "--set", "batch=2", cases=2)


def test_what_it_cannot_take_is_refused():
    with pytest.raises(Unsupported, match="varlen=false"):
        triton_flash(AttentionWorkload(seq=64, varlen=True))
    with pytest.raises(Unsupported, match="tiles of f64 hold 128 columns"):
        triton_flash(AttentionWorkload(seq=64, head_dim=160, dtype="f64"))
