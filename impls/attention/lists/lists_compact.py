"""Block lists by one pass over sorted picks: a running sum gives each new block its place.

It needs no sort, and lists are only as wide as the longest one. That width is read on the host, which waits
for the device. With `trim` false the width is the largest possible: no wait, and a graph can be captured.
"""

from harness import implementation

from .._stage import in_stage
from .._stage_inputs import width
from ..workload import KERNEL_BLOCK, AttentionWorkload
from ._kernel_blocks import merge_small_blocks, split_large_blocks


@implementation(framework="torch", semantics="block_lists")
def lists_compact(w: AttentionWorkload, *, trim: bool = True):
    import torch

    in_stage(w, "block_lists")

    parts = max(1, w.block // KERNEL_BLOCK)

    def lists(picks):
        read = merge_small_blocks(w, picks)
        new = torch.nn.functional.pad(read[..., 1:] != read[..., :-1], (1, 0), value=True)
        place = new.cumsum(-1)
        counts = place[..., -1].int()
        longest = int(counts.max()) if trim else width(w) // parts
        blocks = torch.full((*picks.shape[:-1], longest), -1, dtype=torch.int32, device=picks.device)
        # repetitions write the value that is already there
        blocks.scatter_(-1, place - 1, read)
        return {"blocks": split_large_blocks(w, blocks), "counts": counts * parts}

    return lists
