"""The workload of attention, dense or sparse."""

from __future__ import annotations

from dataclasses import dataclass

from harness import axis

STAGES = ("attention", "compress", "select", "block_lists", "transposed_lists", "gate")


@dataclass(frozen=True)
class AttentionWorkload:
    """`seq` queries of `heads` heads on as many keys of `kv_heads` heads, all `head_dim` wide.

    The sparse forms read blocks of `block` tokens, `selected` of them for each tile of `tile`
    queries, and `window` keys up to and with the query's own; the sparse compressed branch reads
    `compressed_selected` groups of `compressed_block` block means. `gated` weights their three
    branches per query and head. `varlen` packs `segments` sequences of drawn lengths into one.
    With `indexer_heads` an indexer of width `indexer_dim` comes beside, by which DeepSeek's form picks
    `topk` tokens. `stage` measures one stage alone, on what the stage before it gives: block means, the
    selection, the lists of blocks that a kernel reads it as, these lists turned round, or the gated sum.
    """

    batch: int = axis(1)  # independent sequences
    seq: int = axis()  # tokens: queries, and as many keys
    heads: int = axis(8)  # of queries
    kv_heads: int = axis(2)  # of keys and values; each serves heads / kv_heads
    head_dim: int = axis(128)  # elements of a query, key and value
    causal: bool = axis(True)  # later keys are hidden
    block: int = axis(64)  # tokens of a selectable block
    selected: int = axis(16)  # blocks that a tile of queries reads
    window: int = axis(512)  # keys up to and with the query's own
    gated: bool = axis(True)  # branches are weighted per query and head
    varlen: bool = axis(False)  # several sequences packed into one
    dtype: str = axis("f32", choices=("f64", "f32", "bf16", "f16"))  # of inputs and results
    tile: int = axis(256, later=True)  # queries that share a selection
    compressed_block: int = axis(128, later=True)  # block means in a group of the sparse compressed branch
    compressed_selected: int = axis(16, later=True)  # groups that it reads
    segments: int = axis(4, later=True)  # sequences in a packed one
    cuts: str = axis("random", choices=("random", "uniform", "60_40"), later=True)  # where they are packed
    stage: str = axis("attention", choices=STAGES, later=True)  # or one stage alone
    indexer_heads: int = axis(0, minimum=0, later=True)  # of an indexer beside; 0: none
    indexer_dim: int = axis(128, later=True)  # elements of an indexer's head
    topk: int = axis(2048, later=True)  # tokens that the indexer keeps
