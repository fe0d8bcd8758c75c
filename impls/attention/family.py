"""Attention: every query reads the keys before it, or a sparse choice of them.

Native sparse attention (arXiv 2502.11089) replaces the read of all keys by three cheaper ones:
block means, a few selected blocks, a sliding window. MSLK #296 measures one form of it, which is
not the paper's: it compresses without overlap, selects per tile of 256 queries and per query head,
and forces no block. Whoever compares it with dense attention compares two different answers, so
each is a semantics with its own reference.

The defaults are the configuration of MSLK's chart: 8 heads on 2 key heads of width 128, blocks of
64, 16 of them selected, a window of 512.

Tolerances are in unit roundoffs u. A half-precision result passes about four roundings of at most
u (block means, probabilities, a branch's output, the gated sum), in quadrature 2 u: 2.56 u is
allowed. In f32 the sums dominate, and rounding errors of n additions grow like √n u (Higham & Mary
2019): 1e-5 allows chains of 2^14; kernels add longer rows in blocks. In f64 anything near 1e-10
would betray a stage computed in f32. A gradient is made of three factors with such an error each
(probabilities, their cotangents, and keys, queries or values), and a key head's is the sum of its
query heads' rounded ones: four times as much is allowed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from harness import Array, Family, Semantics, Shapes, Unsupported, axis, cast, tolerance

from ._ambiguous import ambiguous
from ._checks import CHECKS
from ._cost import (
    dense_cost,
    dsa_cost,
    fla_cost,
    mslk_cost,
    paper_cost,
    sparse_compressed_cost,
    upstream_cost,
)
from .reference import dense, nsa
from .reference_dsa import ambiguous_dsa, dsa
from .reference_lists import draw_picks, exact_lists, lists, lists_cost, shapes_of_lists
from .reference_paper import ambiguous_paper, paper
from .reference_upstream import upstream

BYTES = {"f64": 8, "f32": 4, "bf16": 2, "f16": 2}
FORWARD = {"f64": 1e-10, "f32": 1e-5, "bf16": 2.56 * 2**-8, "f16": 2.56 * 2**-11}
GRADIENT = {dtype: 4 * bound for dtype, bound in FORWARD.items()}


@dataclass(frozen=True)
class AttentionWorkload:
    """`seq` queries of `heads` heads on as many keys of `kv_heads` heads, all `head_dim` wide.

    The sparse forms read blocks of `block` tokens, `selected` of them for each tile of `tile`
    queries, and `window` keys up to and with the query's own; the sparse compressed branch reads
    `compressed_selected` groups of `compressed_block` block means. `gated` weights their three
    branches per query and head. `varlen` packs `segments` sequences of drawn lengths into one.
    With `indexer_heads` an indexer of width `indexer_dim` comes beside, by which DeepSeek's form picks
    `topk` tokens. In stage `block_lists` the input is a selection, and the answer what a kernel reads it as.
    """

    batch: int = axis(1)
    seq: int = axis()
    heads: int = axis(8)
    kv_heads: int = axis(2)
    head_dim: int = axis(128)
    causal: bool = axis(True)
    block: int = axis(64)
    selected: int = axis(16)
    window: int = axis(512)
    gated: bool = axis(True)
    varlen: bool = axis(False)
    dtype: str = axis("f32", choices=("f64", "f32", "bf16", "f16"))
    tile: int = axis(256, later=True)
    compressed_block: int = axis(128, later=True)
    compressed_selected: int = axis(16, later=True)
    segments: int = axis(4, later=True)
    stage: str = axis("attention", choices=("attention", "block_lists"), later=True)
    indexer_heads: int = axis(0, minimum=0, later=True)
    indexer_dim: int = axis(128, later=True)
    topk: int = axis(2048, later=True)


def shapes(w: AttentionWorkload) -> Shapes:
    if w.heads % w.kv_heads:
        raise Unsupported(f"heads {w.heads} is no multiple of kv_heads {w.kv_heads}; choose one that is")
    if w.varlen and w.batch != 1:
        raise Unsupported(f"varlen packs sequences into one row, not into batch {w.batch}; use batch 1")
    if w.varlen and w.segments > w.seq:
        raise Unsupported(f"seq {w.seq} cannot hold {w.segments} segments; use a longer seq")
    if w.stage == "block_lists":
        return shapes_of_lists(w)
    query = Array((w.batch, w.seq, w.heads, w.head_dim), w.dtype)
    key = Array((w.batch, w.seq, w.kv_heads, w.head_dim), w.dtype)
    arrays = {"q": query, "k": key, "v": key}
    if w.gated:
        arrays["gates"] = Array((w.batch, w.seq, w.heads, 3), w.dtype)
    if w.indexer_heads:
        arrays["index_q"] = Array((w.batch, w.seq, w.indexer_heads, w.indexer_dim), w.dtype)
        arrays["index_k"] = Array((w.batch, w.seq, w.indexer_dim), w.dtype)
        arrays["index_w"] = Array((w.batch, w.seq, w.indexer_heads), w.dtype)
    if w.varlen:
        arrays["cu_seqlens"] = Array((w.segments + 1,), "i32")
    return arrays


def inputs(w: AttentionWorkload, rng: Any) -> Mapping[str, Any]:
    """Normal q, k, v and indexer; gates are a sigmoid of normals; segments are cut at distinct places."""
    import numpy as np

    if w.stage == "block_lists":
        return {"picks": draw_picks(w, rng)}
    drawn = np.float64 if w.dtype == "f64" else np.float32
    arrays = {}
    for name, array in shapes(w).items():
        if not isinstance(array, Array) or name == "cu_seqlens":
            continue
        values = rng.standard_normal(array.shape, dtype=drawn)
        arrays[name] = cast(1 / (1 + np.exp(-values)) if name == "gates" else values, w.dtype)
    if w.varlen:
        cuts = np.sort(rng.choice(w.seq - 1, w.segments - 1, replace=False) + 1)
        arrays["cu_seqlens"] = np.concatenate([[0], cuts, [w.seq]]).astype(np.int32)
    return arrays


def _semantics(name: str, reference: Any, cost: Any, sentence: str, marks: Any = None) -> Semantics:
    return Semantics(
        name,
        reference,
        tolerance(FORWARD),
        gradient=tolerance(GRADIENT, cancelling=True),
        framework="torch",
        ambiguous=marks,
        sentence=sentence,
        cost=cost,
    )


FAMILY = Family(
    name="attention",
    question="From which length on does sparse attention beat dense, and what does it cost to be right?",
    workload=AttentionWorkload,
    shapes=shapes,
    inputs=inputs,
    semantics={
        "dense": _semantics(
            "dense", dense, dense_cost, "softmax attention over all keys up to the query's own"
        ),
        "nsa_mslk": _semantics(
            "nsa_mslk",
            nsa,
            mslk_cost,
            "MSLK's block means, selected blocks and sliding window, gated",
            ambiguous,
        ),
        "nsa_mslk_sparse_compressed": _semantics(
            "nsa_mslk_sparse_compressed",
            partial(nsa, sparse_compressed=True),
            sparse_compressed_cost,
            "as nsa_mslk, but only selected groups of block means are read",
            partial(ambiguous, sparse_compressed=True),
        ),
        "nsa_mslk_upstream": _semantics(
            "nsa_mslk_upstream",
            upstream,
            upstream_cost,
            "as nsa_mslk, but whole blocks of 128 are read, missing picks are block 0, and window + 1 keys",
            ambiguous,
        ),
        "nsa_paper": _semantics(
            "nsa_paper",
            paper,
            paper_cost,
            "the paper's: overlapping compression, blocks selected per query and key head, three forced",
            ambiguous_paper,
        ),
        "nsa_fla": _semantics(
            "nsa_fla",
            partial(paper, fla=True),
            fla_cost,
            "fla's: as the paper's, but compression blocks are the selection blocks and never overlap",
            partial(ambiguous_paper, fla=True),
        ),
        "dsa": _semantics(
            "dsa",
            dsa,
            dsa_cost,
            "softmax attention over the tokens that DeepSeek's lightning indexer picks for each query",
            ambiguous_dsa,
        ),
        "block_lists": Semantics(
            "block_lists",
            lists,
            exact_lists(),
            sentence="blocks of 128 tokens that hold a tile's picks, each once, ascending, and their count",
            cost=lists_cost,
        ),
    },
    cost=dense_cost,
    modes=("fwd", "bwd", "fwd_bwd"),
    rows=lambda w: w.seq if w.stage == "attention" else w.heads,
    tile=lambda w: w.tile,
    checks=CHECKS,
)
