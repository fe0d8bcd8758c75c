"""Block lists by a dense table: one boolean for every tile and block, then the numbers of the set ones.

The table grows as N²: with 32 heads and tiles of 256, a million tokens take 1 GiB of booleans, and four times
as much in the numbers that are ranked (MSLK #296, before it was replaced).
"""

from harness import implementation

from .._stage import in_stage
from .._stage_inputs import width
from ..workload import KERNEL_BLOCK, AttentionWorkload
from ._kernel_blocks import kernel_blocks


@implementation(framework="torch", semantics="block_lists")
def lists_dense(w: AttentionWorkload):
    import torch

    in_stage(w, "block_lists")
    count = -(-w.seq // KERNEL_BLOCK)

    def lists(picks):
        attended = torch.zeros(*picks.shape[:-1], count, dtype=torch.bool, device=picks.device)
        attended.scatter_(-1, kernel_blocks(w, picks).long(), value=True)
        number = torch.arange(count, dtype=torch.int32, device=picks.device)
        ranked = number.expand_as(attended).masked_fill(~attended, count)
        blocks = ranked.topk(width(w), -1, largest=False, sorted=True).values
        return {"blocks": blocks, "counts": attended.sum(-1, dtype=torch.int32)}

    return lists
