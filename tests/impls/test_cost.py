"""Minimum work of a semantics: pairs counted one by one, and published numbers."""

from dataclasses import replace
from itertools import product

import pytest

from impls.attention.family import AttentionWorkload
from impls.mask.family import MaskWorkload
from impls.mla.family import MlaWorkload
from impls.offsets.workload import OffsetsWorkload
from impls.topk.family import TopkWorkload
from tests.impls.attention_by_hand import SMALL, of
from tests.impls.variants import FAMILIES

SIZES = (1, 2, 8, 33, 100)
NARROW = AttentionWorkload(seq=8, batch=2, heads=4, kv_heads=2, head_dim=16)
MSLK, SPARSE, UPSTREAM, PAPER = "nsa_mslk", "nsa_mslk_sparse_compressed", "nsa_mslk_upstream", "nsa_paper"
INDEXER = TopkWorkload(stage="indexer", batch=2, rows=5, seq=300, topk=20, heads=8, head_dim=16)
ATTEND = replace(INDEXER, stage="attention", attention_heads=3, key_dim=12, value_dim=7)
SHARDED = TopkWorkload(stage="indexer", devices=128, rows=131072, seq=131072, topk=2048, dtype="bf16")
V3 = MlaWorkload(seq=1000, phase="decode", config="v3", dtype="bf16")


def cost_of(name, w):
    family = next(family for family in FAMILIES.values() if isinstance(w, family.workload))
    return family.cost_of(name, w)


def flops_of(name, w):
    return cost_of(name, w).flops


def pairs(queries, keys, *, causal=True, window=None):
    """Pairs with a visible key; the queries are the last ones of as many tokens as keys."""
    return sum(
        (not causal or key <= query) and (window is None or query - key < window)
        for query, key in product(range(keys - queries, keys), range(keys))
    )


def sparse_flops(name, w):
    """Pairs, query by query, with a sum of values; and the scores of tiles, without a sum."""
    met = 0
    for t in range(w.seq):
        means, selected, window = t // w.block + 1, w.selected * w.block, w.window
        if name == SPARSE:
            means = min(means, w.compressed_selected * w.compressed_block)
        if name == UPSTREAM:
            selected, window = w.selected * max(w.block, 128), w.window + 1
        if name == PAPER:
            means = sum(i + w.block // 2 - 1 <= t for i in range(0, w.seq, w.block // 4))
        if name == "nsa_fla":
            means = (t + 1) // w.block
        met += means + min(t + 1, selected) + min(t + 1, window)
    tiles = range(w.tile, w.seq + w.tile, w.tile) if name in {MSLK, SPARSE, UPSTREAM} else ()
    scores = sum(j < end for end in tiles for j in range(0, w.seq, w.block))
    return w.batch * w.heads * w.head_dim * (4 * met + 2 * scores)


def dsa_flops(w):
    seen = sum(min(w.topk, t + 1) for t in range(w.seq))
    return 2 * (4 * 4 * 16 * seen + 8 * 2 * 33 * pairs(w.seq, w.seq))


def mla(**fields):
    return MlaWorkload(batch=2, heads=3, dim=24, nope=16, rope=8, v=8, kv_lora_rank=16, **fields)


A_PAIR = 4 * 2 * 4 * 16  # of NARROW: two products of every head
PRETRAIN = of(NARROW, seq=4096, varlen=True, lengths="pretrain")
PACKED = OffsetsWorkload(seq=2048, max_segments=64, window=7, head_dim=6, heads=2, lengths="pretrain")
KINDS = {"causal": {}, "bottom_right": {}, "padding": {"causal": False}, "sliding": {"window": 7}}


def counted():
    """(semantics, workload, the FLOPs of its pairs, or None if they are unknown)."""
    for name in (MSLK, SPARSE, UPSTREAM, PAPER, "nsa_fla"):
        for w in (of(), of(seq=592), of(block=128, batch=2), of(seq=48), of(tile=64)):
            yield name, w, sparse_flops(name, w)
    yield "decode", of(NARROW, seq=100, stage="decode"), A_PAIR * 100
    for n in SIZES:
        yield "chunk", of(NARROW, seq=100, stage="chunk", queries=n), A_PAIR * pairs(n, 100)
        w = of(NARROW, seq=n, indexer_heads=8, indexer_dim=32, topk=20)
        yield "dsa", w, dsa_flops(w)
        # Each query has its last keys, as many as its blocks hold.
        yield "given_blocks", of(NARROW, seq=n, block=8, selected=2), A_PAIR * pairs(n, n, window=16)
    for causal in (True, False):
        for n in SIZES:
            yield "dense", of(NARROW, seq=n, causal=causal), A_PAIR * pairs(n, n, causal=causal)
        met = sum(pairs(n, n, causal=causal) for n in PRETRAIN.packed)
        yield "dense", of(PRETRAIN, causal=causal), A_PAIR * met
    for kind, shown in KINDS.items():
        met = sum(pairs(n, n, **shown) for row in PACKED.packed for n in row)
        yield "attended", of(PACKED, kind=kind), 4 * 2 * 6 * met
    yield "indexer", SHARDED, 2 * 1024 * 131072 * 64 * 129  # of one device
    yield "indexer", of(SHARDED, devices=1), 2 * 131072 * 131072 * 64 * 129
    yield "attention", ATTEND, flops_of("indexer", INDEXER) + 2 * 2 * 5 * 20 * 3 * (12 + 7)
    steps = sum(flops_of("dense", mla(seq=20 + i, phase="decode")) for i in range(3))
    yield "steps", mla(seq=20, phase="decode", steps=3), steps
    # Without documents nobody knows their lengths; a selection computes nothing.
    for name in ("dense", MSLK, PAPER):
        yield name, of(varlen=True), None
    yield "attended", of(PACKED, lengths="uniform"), None
    yield "exact", TopkWorkload(seq=4096), None
    yield "block_lists", of(stage="block_lists"), None


@pytest.mark.parametrize(("name", "w", "flops"), [*counted()])
def test_flops_are_those_of_the_pairs_that_meet(name, w, flops):
    assert flops_of(name, w) == (flops and pytest.approx(flops, rel=1e-12))


def nbytes(arrays):
    return sum(nbytes(a) if isinstance(a, dict) else a.nbytes for a in arrays.values())


STAGES = {  # elements that leave a stage of SMALL
    "compress": 2 * 40 * 2 * 16,
    "select": 4 * 3 * 4,
    "gate": 640 * 4 * 16,
    "block_lists": 4 * 3 * (4 + 1),
    "transposed_lists": 4 * (3 * 4 + 5),
}
BYTES = [  # beside the inputs: the result
    *(
        (name, w, 640 * 4 * 16 * (2 if w.dtype == "bf16" else 4))
        for name in ("dense", MSLK, SPARSE, UPSTREAM, PAPER, "nsa_fla")
        for w in (of(), of(gated=False, dtype="bf16"), of(varlen=True))
    ),
    ("dsa", of(indexer_heads=8, topk=20), 640 * 4 * 16 * 4),
    *((stage, of(stage=stage), 4 * elements) for stage, elements in STAGES.items()),
    # Latents are read once, but not the keys and values computed from them.
    ("dense", V3, 7168 * 2 - 1000 * 128 * (192 + 128) * 2),
    ("attention", ATTEND, 4 * 2 * 3 * 5 * 7 + 2 * 5 * 20 * 8),
    ("exact", OffsetsWorkload(batch=2, seq=1024), 2 * 4 * (16 + 16 + 17 + 17)),
    ("exact", TopkWorkload(batch=2, rows=3, seq=100, topk=10, dtype="bf16"), 6 * 10 * (2 + 4)),
]


@pytest.mark.parametrize(("name", "w", "left"), BYTES)
def test_bytes_are_inputs_and_result(name, w, left):
    family = next(family for family in FAMILIES.values() if isinstance(w, family.workload))
    assert cost_of(name, w).bytes - nbytes(family.shapes(w)) == left


@pytest.mark.parametrize("name", ["dense", MSLK, PAPER])
def test_packed_documents_cost_what_each_does_alone(name):
    w = of(varlen=True, seq=16384, lengths="pretrain")
    alone, cost = [cost_of(name, of(seq=tokens)) for tokens in w.packed], cost_of(name, w)
    assert sum(w.packed) == w.seq
    assert len(w.packed) > 5
    for figure in ("flops", "dense_flops"):
        assert getattr(cost, figure) == sum(getattr(one, figure) for one in alone)
    whole, single = cost_of(name, of(seq=16384)), cost_of(name, of(w, lengths="single"))
    assert (single.flops, single.dense_flops) == (whole.flops, whole.dense_flops)


def test_dense_counterparts():
    """Comparisons of all pairs, with one, two or three each, and the products of dense attention."""
    for kind, compared in {"causal": 2, "bottom_right": 2, "padding": 1, "sliding": 3}.items():
        w = OffsetsWorkload(batch=2, seq=1024, kind=kind)
        assert cost_of("exact", w).dense_flops == 2 * 1024**2 * compared
    assert cost_of(MSLK, SMALL).dense_flops == 2 * 640 * 641 * 4 * 16
    assert cost_of("attention", ATTEND).dense_flops == 2 * 2 * 5 * 300 * 3 * (12 + 7)
    mask = cost_of("exact", MaskWorkload(rows=1024, seq=131072))
    assert (mask.bytes, mask.dense_flops) == (1024 * (2048 * 4 + 131072 * 4), 2 * 274_877_906_944)


@pytest.mark.parametrize(
    ("queries", "keys", "fields"),
    [
        *((n, n, {"seq": n, "causal": causal}) for n in SIZES for causal in (True, False)),
        *((n, 33 + n, {"seq": 33, "phase": "chunk", "queries": n}) for n in SIZES),
        *((n, 33 + n, {"seq": 33, "phase": "decode", "steps": n}) for n in SIZES),
    ],
)
def test_latent_attention(queries, keys, fields):
    """A wider key adds two operations per pair in every head, and to the projection of the new tokens."""
    meaning = "steps" if fields.get("steps", 1) > 1 else "dense"
    wider, plain = (flops_of(meaning, replace(mla(**fields), nope=nope)) for nope in (32, 16))
    projected = 2 * 2 * queries * 16 * 3 * (24 + 16)  # queries' from the token, keys' from the latent
    met = pairs(queries, keys, causal=fields.get("causal", True))
    assert wider - plain - projected == 2 * 2 * 3 * 16 * met


@pytest.mark.parametrize(
    ("seq", "attention", "keys"), [(64, 10.7, 68.7), (128, 42.9, 137), (256, 172, 275), (512, 687, 550)]
)
def test_a_prefill_of_mla_has_the_known_parts(seq, attention, keys):
    """GFLOP of the v3 configuration at batch 32, non-causal, counted by hand elsewhere."""

    def flops(seq, heads=128):
        return flops_of("dense", MlaWorkload(seq=seq, batch=32, config="v3", heads=heads, causal=False)) / 1e9

    assert (flops(2 * seq) - 2 * flops(seq)) / 2 == pytest.approx(attention, rel=5e-3)
    own = 2 * 32 * seq * (1536 * 192 + 128 * 7168) / 1e9
    assert 128 * (flops(seq, 128) - flops(seq, 127) - own) == pytest.approx(attention + keys, rel=5e-3)
