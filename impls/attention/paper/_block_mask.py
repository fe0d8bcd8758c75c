"""Given blocks as FlexAttention's mask: lists of blocks of 128 × 128 pairs, and which pairs are read.

A list has every block that one of 128 queries reads, so queries with different picks share little. Inside a
block, an array with a boolean per query and block says which pairs count: seq² / block booleans for each key
head.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from harness import Unsupported

from .._flex import refuse_flex
from .._stage import in_stage
from ..workload import AttentionWorkload

BLOCK = 128


def refuse(w: AttentionWorkload) -> None:
    """Raise Unsupported for a workload that the mask or the kernel does not support."""
    in_stage(w, "given_blocks")
    refuse_flex(w, "attention/given_blocks_gather")
    if BLOCK % w.block and w.block % BLOCK:
        raise Unsupported(f"block {w.block}: the mask's blocks are {BLOCK} tokens; use a divisor or multiple")
    # torch 2.13 widens indices for the arrays of queries and keys, but not for an array that the mask reads.
    if (count := w.batch * w.kv_heads * w.seq * -(-w.seq // w.block)) >= 1 << 31:
        raise Unsupported(
            f"the mask reads {count} booleans, which torch indexes by 32 bits; use a shorter seq"
        )


class BlockLists(NamedTuple):
    """Per row of blocks, [b, heads, blocks]: how many with a hidden pair, which, how many without, which."""

    partly: Any
    index: Any
    full: Any
    every: Any


def read_blocks(w: AttentionWorkload, picks: Any) -> Any:
    """Whether a query of a key head reads a block of `block` tokens: booleans [b, kv_heads, seq, blocks].

    Neither this nor the following functions index, or invert by ~: torch can do neither for tensors on an
    absent GPU.
    """
    import torch

    blocks = -(-w.seq // w.block)
    read = torch.zeros((*picks.shape[:3], blocks + 1), dtype=torch.bool, device=picks.device)
    at = picks.long()
    read.scatter_(-1, torch.where(at < 0, blocks, at), value=True)
    return read.narrow(-1, 0, blocks).clone()


def visible(w: AttentionWorkload, batch: Any, head: Any, query: Any, key: Any, read: Any) -> Any:
    """Whether a query of a head sees a key, in the form that FlexAttention calls.

    Quotients are written as in Dynamo's trace of //.
    """
    import torch

    key_head = torch.div(head, w.heads // w.kv_heads, rounding_mode="floor")
    block = torch.div(key, w.block, rounding_mode="floor")
    return read[batch, key_head, query, block] & (query >= key)


def block_lists(w: AttentionWorkload, read: Any) -> BlockLists:
    """The lists of `read`, int32; the same for all heads of a key head."""
    import torch

    some = _tiles(w, read, value=False).any(-1).tril()
    whole = _tiles(w, read, value=True).all(-1).tril(-1)  # later keys hide pairs of the diagonal's block
    lists: list[Any] = []
    for blocks in (some > whole, whole):
        each = blocks.repeat_interleave(w.heads // w.kv_heads, 1)
        order = torch.argsort(each.to(torch.int8), dim=-1, descending=True, stable=True)
        lists += [each.sum(-1, dtype=torch.int32), order.to(torch.int32)]
    return BlockLists(*lists)


def _tiles(w: AttentionWorkload, read: Any, *, value: bool) -> Any:
    """For each block of 128 × 128 pairs, its queries' values for its keys: [b, kv_heads, blocks, blocks, n].

    Queries and keys after the last have `value`.
    """
    from torch.nn.functional import pad

    count = -(-w.seq // BLOCK)
    each = max(1, BLOCK // w.block)
    rows = pad(read, (0, 0, 0, count * BLOCK - w.seq), value=value).unflatten(2, (count, BLOCK))
    rows = (rows.all(3) if value else rows.any(3)).repeat_interleave(max(1, w.block // BLOCK), -1)
    return pad(rows, (0, count * each - rows.shape[-1]), value=value).unflatten(-1, (count, each))
