"""Workload of attention, dense or sparse."""

from __future__ import annotations

from dataclasses import dataclass

from harness import LENGTHS, PACKERS, Workload, axis, packed_rows

STAGES = (
    "attention",
    "compress",
    "select",
    "block_lists",
    "transposed_lists",
    "gate",
    "given_blocks",
    "decode",
    "chunk",
)

DISTRIBUTIONS = ("iid", "clustered", "peaked", "zeros")

KERNEL_BLOCK = 128  # tokens in a block of MSLK's kernel, whatever `block` is


@dataclass(frozen=True)
class AttentionWorkload(Workload):
    """`seq` queries of `heads` heads and as many keys of `kv_heads` heads, all `head_dim` wide.

    The sparse forms read blocks of `block` tokens, `selected` of them for each tile of `tile` queries, and
    `window` keys up to and including the query's own. The sparse compressed branch reads
    `compressed_selected` groups of `compressed_block` block means. `gated` weights their three branches per
    query and head. `varlen` packs sequences into one: either `segments` of them, cut as `cuts` says, or
    documents of real `lengths`, whose padding is the last sequence; then `segments` is not read. With
    `indexer_heads` there is also an indexer of width `indexer_dim`, by which DeepSeek's form picks `topk`
    tokens.

    `stage` measures a single stage, on the results of the stage before it: block means, the selection, the
    lists of blocks as a kernel reads them, these lists transposed, the gated sum, or the paper's selected
    branch on `given_blocks`. In stage `decode` one query, at the last token, reads a cache that includes the
    block means. In stage `chunk` the last `queries` tokens read a cache without them. The paper's form
    compresses `kernel` tokens every `stride`, and always selects the first `init_blocks` blocks and the last
    `local_blocks` up to the query's own.
    """

    batch: int = axis(1)  # independent sequences
    seq: int = axis()  # tokens: number of keys, and of queries except in a decode or chunk
    heads: int = axis(8)  # of queries
    kv_heads: int = axis(2)  # of keys and values; each serves heads / kv_heads
    head_dim: int = axis(128)  # elements of a query, key and value
    causal: bool = axis(True)  # hide later keys
    block: int = axis(64)  # tokens of a selectable block
    selected: int = axis(16)  # blocks that a tile of queries reads
    window: int = axis(512)  # keys up to and including the query's own
    gated: bool = axis(True)  # weight branches per query and head
    varlen: bool = axis(False)  # pack several sequences into one
    dtype: str = axis("f32", choices=("f64", "f32", "bf16", "f16"))  # of inputs and results
    tile: int = axis(256, later=True)  # queries that share a selection
    compressed_block: int = axis(128, later=True)  # block means in a group of the sparse compressed branch
    compressed_selected: int = axis(16, later=True)  # groups that it reads
    segments: int = axis(4, later=True)  # sequences in a packed one
    cuts: str = axis("random", choices=("random", "uniform", "60_40"), later=True)  # where sequences are cut
    stage: str = axis(
        "attention", choices=STAGES, later=True
    )  # whole attention, a single stage, or one or more new tokens
    indexer_heads: int = axis(0, minimum=0, later=True)  # of an indexer; 0: no indexer
    indexer_dim: int = axis(128, later=True)  # elements of an indexer's head
    topk: int = axis(2048, later=True)  # tokens that the indexer picks
    kernel: int = axis(0, minimum=0, later=True)  # tokens of a compression block; 0: half a block
    stride: int = axis(
        0, minimum=0, later=True
    )  # tokens from one of them to the next; 0: a quarter of a block
    init_blocks: int = axis(1, minimum=0, later=True)  # first blocks that are always selected
    local_blocks: int = axis(2, later=True)  # last blocks, up to and including the query's own
    lengths: str = axis("uniform", choices=LENGTHS, table=True, later=True)  # of packed documents
    packing: str = axis("first_fit", choices=PACKERS, later=True)  # of documents into rows
    packing_seed: int = axis(0, minimum=0, later=True)  # of their lengths, and of the row that is used
    queries: int = axis(1024, later=True)  # number of the last tokens that are a chunk
    distribution: str = axis(
        "iid", choices=DISTRIBUTIONS, captured=True, later=True
    )  # how queries and keys are drawn

    @property
    def query_count(self) -> int:
        """Number of tokens with a query: the last ones."""
        return {"decode": 1, "chunk": self.queries}.get(self.stage, self.seq)

    @property
    def compression(self) -> tuple[int, int]:
        """Tokens of the paper's compression block, and from the start of one to that of the next."""
        return self.kernel or self.block // 2, self.stride or self.block // 4

    @property
    def packed(self) -> tuple[int, ...]:
        """Tokens of each packed sequence; None if `lengths` is uniform and inputs draw them."""
        if self.lengths == "uniform":
            return ()
        row = packed_rows(self.lengths, self.packing, self.packing_seed, self.seq, 1)[0]
        padding = self.seq - sum(row)
        return (*row, padding) if padding else row

    @property
    def sequences(self) -> int:
        """Number of sequences in a packed one."""
        return len(self.packed) or self.segments
