"""FLOPs of attention are those of the pairs of a query and a key that it sees, counted one by one."""

from dataclasses import replace
from itertools import product

import pytest

from impls.attention.family import FAMILY as ATTENTION
from impls.attention.family import AttentionWorkload
from impls.mla.family import FAMILY as MLA
from impls.mla.family import MlaWorkload
from impls.offsets.family import FAMILY as OFFSETS
from impls.offsets.workload import OffsetsWorkload

SIZES = (1, 2, 8, 33, 100)
DENSE = AttentionWorkload(seq=8, batch=2, heads=4, kv_heads=2, head_dim=16)


def count_pairs(queries, keys, *, causal=True, window=None):
    """Pairs whose key is not hidden; the queries are the last ones of as many tokens as keys."""
    places = range(keys - queries, keys)
    return sum(
        (not causal or key <= query) and (window is None or query - key < window)
        for query, key in product(places, range(keys))
    )


@pytest.mark.parametrize("seq", SIZES)
@pytest.mark.parametrize("causal", [True, False])
def test_dense_attention(seq, causal):
    cost = ATTENTION.cost_of("dense", replace(DENSE, seq=seq, causal=causal))
    assert cost.flops == cost.dense_flops == 4 * 2 * 4 * 16 * count_pairs(seq, seq, causal=causal)


@pytest.mark.parametrize(("stage", "queries"), [("decode", 1), *(("chunk", n) for n in SIZES)])
def test_queries_after_a_cache(stage, queries):
    w = replace(DENSE, seq=100, stage=stage, queries=queries)
    cost = ATTENTION.cost_of(stage, w)
    assert cost.flops == cost.dense_flops == 4 * 2 * 4 * 16 * count_pairs(queries, 100)


@pytest.mark.parametrize("seq", SIZES)
def test_a_chunk_of_all_tokens_is_dense_attention(seq):
    w = replace(DENSE, seq=seq, stage="chunk", queries=seq)
    chunk, dense = ATTENTION.cost_of("chunk", w), ATTENTION.cost_of("dense", replace(w, stage="attention"))
    assert (chunk.flops, chunk.dense_flops) == (dense.flops, dense.dense_flops)


@pytest.mark.parametrize("causal", [True, False])
def test_packed_documents(causal):
    w = replace(DENSE, seq=4096, varlen=True, lengths="pretrain", causal=causal)
    assert min(w.packed) < 500
    pairs = sum(count_pairs(tokens, tokens, causal=causal) for tokens in w.packed)
    assert ATTENTION.cost_of("dense", w).flops == 4 * 2 * 4 * 16 * pairs


@pytest.mark.parametrize("seq", SIZES)
def test_an_indexer_scores_every_pair(seq):
    w = replace(DENSE, seq=seq, indexer_heads=8, indexer_dim=32, topk=20)
    cost, seen = ATTENTION.cost_of("dsa", w), sum(min(20, t + 1) for t in range(seq))
    assert cost.flops == 2 * (4 * 4 * 16 * seen + 8 * 2 * 33 * count_pairs(seq, seq))


@pytest.mark.parametrize("seq", SIZES)
@pytest.mark.parametrize("name", ["nsa_mslk", "given_blocks"])
def test_selected_blocks_and_a_window(name, seq):
    """Each query has its last keys, as many as its blocks and its window hold; blocks have a mean each."""
    w = replace(DENSE, seq=seq, block=8, selected=2, window=5, tile=seq)
    pairs = count_pairs(seq, seq, window=16)
    if name == "nsa_mslk":
        pairs += count_pairs(seq, seq, window=5) + sum(t // 8 + 1 for t in range(seq)) + -(-seq // 8) / 2
    assert ATTENTION.cost_of(name, w).flops == 4 * 2 * 4 * 16 * pairs


@pytest.mark.parametrize(
    ("queries", "keys", "fields"),
    [
        *((n, n, {"seq": n, "causal": causal}) for n in SIZES for causal in (True, False)),
        *((n, 33 + n, {"seq": 33, "phase": "chunk", "queries": n}) for n in SIZES),
        *((n, 33 + n, {"seq": 33, "phase": "decode", "steps": n}) for n in SIZES),
    ],
)
def test_latent_attention(queries, keys, fields):
    """A key's width more of every head adds two operations a pair, and a projection of the new tokens."""
    w = MlaWorkload(batch=2, heads=3, dim=24, nope=16, rope=8, v=8, kv_lora_rank=16, **fields)
    meaning = "steps" if fields.get("steps", 1) > 1 else "dense"
    wider, plain = (MLA.cost_of(meaning, replace(w, nope=nope)).flops for nope in (32, 16))
    projected = 2 * 2 * queries * 16 * 3 * (24 + 16)  # queries' from the token, keys' from the latent
    pairs = count_pairs(queries, keys, causal=fields.get("causal", True))
    assert wider - plain - projected == 2 * 2 * 3 * 16 * pairs


@pytest.mark.parametrize("kind", ["causal", "bottom_right", "padding", "sliding"])
def test_attention_of_packed_segments(kind):
    w = OffsetsWorkload(
        seq=2048, max_segments=64, kind=kind, window=7, head_dim=6, heads=2, lengths="pretrain"
    )
    window = 7 if kind == "sliding" else None
    pairs = sum(
        count_pairs(tokens, tokens, causal=kind != "padding", window=window)
        for row in w.packed
        for tokens in row
    )
    assert OFFSETS.cost_of("attended", w).flops == 4 * 2 * 6 * pairs
