"""Transposed lists by one stable sort of their entries, as wide as the longest list.

Sorted by block, entries of a block are adjacent, in the order of their tiles; each goes to its place after
the block's first (MSLK #296's inverted index). The longest list is read on the host. If most tiles read one
block, the result is no narrower than `lists_transposed_dense`'s.
"""

from harness import implementation

from .._stage import in_stage
from ..workload import KERNEL_BLOCK, AttentionWorkload


@implementation(framework="torch", semantics="transposed_lists")
def lists_transposed_compact(w: AttentionWorkload):
    import torch

    in_stage(w, "transposed_lists")
    count = -(-w.seq // KERNEL_BLOCK)

    def transpose(blocks, counts):
        heads, each = counts.shape[:2], blocks.shape[-1]
        behind = torch.arange(blocks.shape[-1], device=blocks.device) >= counts[..., None]
        read = blocks.masked_fill(behind, count).flatten(2).flatten(0, 1).long()
        block, entry = torch.sort(read, dim=-1, stable=True)
        often = torch.zeros(len(read), count + 1, dtype=torch.int32, device=blocks.device)
        often.scatter_add_(-1, read, torch.ones_like(read, dtype=torch.int32))
        first = often.cumsum(-1) - often
        place = torch.arange(read.shape[-1], device=blocks.device) - first.gather(-1, block)
        longest = int(often[:, :count].max())
        place = place.masked_fill(block == count, longest)
        tiles = torch.full((len(read), count + 1, longest + 1), -1, dtype=torch.int32, device=blocks.device)
        row = torch.arange(len(read), device=blocks.device)[:, None]
        tiles[row, block, place] = (entry // each).int()
        tiles, often = tiles[:, :count, :longest], often[:, :count]
        return {"tiles": tiles.unflatten(0, heads), "counts": often.unflatten(0, heads)}

    return transpose
