"""The workload of attention, dense or sparse."""

from __future__ import annotations

from dataclasses import dataclass

from harness import axis


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
