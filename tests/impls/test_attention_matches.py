"""Every torch variant of attention, and its gradients, against the reference of what it claims."""

from dataclasses import replace

import pytest

from impls.attention.family import FAMILY, AttentionWorkload
from tests.impls.judgements import assert_passed
from tests.impls.torch_case import Option, judged
from tests.impls.variants import ATTENTION as V

pytestmark = pytest.mark.torch

SPARSE = (V.nsa_mslk, V.nsa_mslk_sparse_compressed)
DENSE = (
    *(Option(V.dense_sdpa), Option(V.dense_sdpa, backend="flash")),
    *(Option(V.dense_chunked, chunk=64), Option(V.dense_chunked, chunk=4096)),
)
BF16 = {"dtype": "bf16"}
BLOCKS = AttentionWorkload(
    seq=640, heads=4, kv_heads=2, head_dim=16, block=16, selected=4, window=70,
    compressed_block=8, compressed_selected=2,
)  # fmt: skip
UPSTREAM = replace(BLOCKS, heads=2, kv_heads=1)
SHORT = AttentionWorkload(seq=150, heads=4, kv_heads=2, head_dim=16)
TOKENS = replace(SHORT, head_dim=8, gated=False, indexer_heads=8, indexer_dim=16, topk=20)
FLA = replace(SHORT, head_dim=8, block=16, selected=4, window=20)
PAPER = replace(FLA, seq=200, selected=5)
PACKED = AttentionWorkload(
    seq=1028, heads=2, kv_heads=1, head_dim=8, block=32, selected=3, window=70, tile=128,
    compressed_block=2, compressed_selected=2, varlen=True, segments=5,
)  # fmt: skip
GIVEN = replace(PAPER, stage="given_blocks", seq=75, selected=3, gated=False)
DECODE = replace(PAPER, stage="decode")


def cases(variants, w, *changes):
    return [
        pytest.param(variant, replace(w, **fields), id=f"{variant.name}-{fields or 'plain'}")
        for variant in variants
        for fields in changes
    ]


CASES = [
    *cases((V.dense, *SPARSE), BLOCKS, {}, {"dtype": "f64"}, BF16, {"dtype": "f16"}, {"gated": False}),
    *cases((V.dense, *SPARSE), BLOCKS, {"batch": 2, "seq": 272}, {"kv_heads": 4}, {"kv_heads": 1}),
    *cases((V.dense, *SPARSE), BLOCKS, {"seq": 320, "heads": 16, "kv_heads": 1}, {"seq": 256}, {"seq": 48}),
    *cases((V.dense, *SPARSE), BLOCKS, {"window": 4096}, {"window": 1}),
    *cases((V.dense, *SPARSE), BLOCKS, {"seq": 64, "block": 64, "selected": 16}),
    # groups of block means that the sequence does not fill
    *cases([V.nsa_mslk_sparse_compressed], UPSTREAM, *({"seq": 16 * blocks} for blocks in (17, 23, 33))),
    *cases([V.dense], BLOCKS, {"causal": False}, {"varlen": True}, {"varlen": True, "causal": False}),
    *cases(DENSE, SHORT, {}, {"dtype": "f64", "kv_heads": 4}, BF16),
    *cases(DENSE, SHORT, {"batch": 2, "causal": False, "seq": 64}, {"varlen": True, "kv_heads": 1}),
    *cases(DENSE, SHORT, {"varlen": True, "causal": False}),
    *cases((V.dsa_masked, V.dsa_gather), TOKENS, {}, BF16 | {"indexer_dim": 32}, {"topk": 150}),
    *cases((V.dsa_masked, V.dsa_gather), TOKENS, {"batch": 2, "kv_heads": 1, "seq": 70}),
    # over one token alone a softmax has no gradient, and rounding is all there is
    *cases((V.dsa_masked, V.dsa_gather), TOKENS, {"topk": 2}, {"heads": 16, "kv_heads": 1}),
    *cases([V.nsa_fla_torch], FLA, {}, BF16 | {"head_dim": 16}, {"gated": False, "batch": 2, "seq": 70}),
    *cases([V.nsa_fla_torch], FLA, {"heads": 16, "kv_heads": 1, "seq": 100}, {"block": 18}),
    *cases([V.nsa_fla_torch], FLA, {"varlen": True, "segments": 5}),
    *cases([V.nsa_paper], PAPER, {}, {"dtype": "f64"}, BF16 | {"head_dim": 16}, {"window": 4096}),
    *cases([V.nsa_paper], PAPER, {"gated": False, "batch": 2, "seq": 64}, {"selected": 64}),
    *cases([V.nsa_paper], PAPER, {"heads": 16, "kv_heads": 1, "seq": 128}, {"varlen": True, "segments": 6}),
    *cases([V.nsa_paper], PAPER, {"varlen": True, "gated": False}),
    *cases([V.nsa_mslk_upstream], UPSTREAM, {}, {"block": 128}, BF16),
    *cases([V.nsa_mslk_upstream], UPSTREAM, {"seq": 336, "kv_heads": 2, "gated": False}),
    *cases((*SPARSE, V.nsa_mslk_upstream), PACKED, {}),
    *cases(
        (*SPARSE, V.nsa_mslk_upstream),
        PACKED,
        BF16 | {"tile": 256, "block": 128, "gated": False, "kv_heads": 2},
    ),
    *cases([V.given_blocks_gather], GIVEN, {}, BF16, {"seq": 16, "batch": 2}, {"heads": 2}),
    *cases((V.dense_decode, V.nsa_paper_decode), DECODE, {}, BF16, {"gated": False, "batch": 2}, {"seq": 7}),
    *cases((V.dense_decode, V.nsa_paper_decode), DECODE, {"kernel": 16, "stride": 4}),
]


@pytest.mark.parametrize(("variant", "w"), CASES)
def test_variant_and_its_gradients_match_the_reference(variant, w):
    for backward in (False,) if w.stage == "decode" else (False, True):
        judgement = assert_passed(judged(FAMILY, variant, w, backward=backward))
        assert judgement.figures["largest_error_of_allowed"] < 0.6
