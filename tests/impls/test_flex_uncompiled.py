"""What implementations ask of FlexAttention, by plain operators; the conformance suite compiles it."""

from dataclasses import replace

import pytest

from impls.attention.family import FAMILY as ATTENTION_FAMILY
from impls.attention.family import AttentionWorkload
from impls.mla.family import FAMILY as MLA_FAMILY
from impls.mla.family import MlaWorkload
from tests.impls.judgements import assert_passed
from tests.impls.torch_case import judged
from tests.impls.variants import ATTENTION, MLA

pytestmark = [
    pytest.mark.torch,
    pytest.mark.usefixtures("uncompiled", "narrow"),
    pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile:UserWarning"),
]

DENSE = AttentionWorkload(seq=150, heads=4, kv_heads=2, head_dim=16)
GIVEN = replace(DENSE, stage="given_blocks", seq=200, block=16, selected=4, gated=False)


@pytest.fixture
def uncompiled(monkeypatch):
    monkeypatch.setattr("torch.compile", lambda function, **_: function)


@pytest.mark.parametrize(
    "fields",
    [
        *({"varlen": varlen, "causal": causal} for varlen in (True, False) for causal in (True, False)),
        {"dtype": "bf16", "batch": 2, "kv_heads": 4},
    ],
    ids=str,
)
def test_dense_attention_by_its_mask(fields):
    assert_passed(judged(ATTENTION_FAMILY, ATTENTION.dense_flex, replace(DENSE, **fields)))


@pytest.mark.parametrize(
    "fields", [{}, {"dtype": "bf16"}, {"block": 256, "seq": 600, "kv_heads": 1}], ids=str
)
def test_attention_of_given_blocks_by_its_mask(fields):
    assert_passed(judged(ATTENTION_FAMILY, ATTENTION.given_blocks_flex, replace(GIVEN, **fields)))


@pytest.mark.parametrize(
    "fields",
    [
        {"seq": 300, "batch": 2},
        {"seq": 60, "causal": False, "dtype": "bf16"},
        {"seq": 40, "phase": "decode", "batch": 2, "dtype": "bf16"},
        {"seq": 30, "phase": "decode", "weights": "fp8_block"},
    ],
    ids=str,
)
def test_mla_by_its_mask(fields):
    assert_passed(judged(MLA_FAMILY, MLA.flex, MlaWorkload(**fields)))
