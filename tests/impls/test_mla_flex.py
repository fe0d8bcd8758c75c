"""FlexAttention over mla's keys and values; the conformance suite compiles it and judges its results."""

import numpy as np
import pytest

from harness import Unsupported
from impls.mla import family as mla
from impls.mla.family import FAMILY, Config, MlaWorkload
from impls.mla.flex import causal_blocks, flex
from tests.impls.judgements import judged
from tests.impls.torch_case import gradients

pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # torch's own, on its first compile
]


@pytest.fixture(autouse=True)
def narrow(monkeypatch):
    config = Config(dim=96, heads=4, q_lora=0, kv_lora=40, nope=24, rope=8, v=16)
    monkeypatch.setitem(mla.CONFIGS, "small", config)


@pytest.mark.parametrize("seq", [1, 127, 128, 129, 300, 700])
def test_its_list_of_blocks_is_the_causal_mask(seq):
    """What torch finds by evaluating the mask everywhere covers what the variant writes down."""
    from torch.nn.attention.flex_attention import create_block_mask

    found = create_block_mask(lambda _b, _h, i, j: i >= j, None, None, seq, seq, device="cpu")
    assert (causal_blocks(seq, "cpu").to_dense() == found.to_dense()).all()


def test_a_backward_on_the_cpu_is_refused():
    w = MlaWorkload(seq=9)
    inputs = dict(FAMILY.inputs(w, np.random.default_rng(0)))
    with pytest.raises(Unsupported, match="no backward on the cpu"):
        gradients(flex(w), inputs, np.ones((1, 9, 96)))
    decode = MlaWorkload(seq=9, phase="decode")
    inputs = dict(FAMILY.inputs(decode, np.random.default_rng(0)))
    with pytest.raises(Unsupported, match="phase=decode"):
        gradients(flex(decode), inputs, np.ones((1, 1, 96)))


def test_double_precision_on_the_cpu_is_refused():
    with pytest.raises(Unsupported, match="no f64 on the cpu"):
        judged(FAMILY, flex, MlaWorkload(seq=9, dtype="f64"))
