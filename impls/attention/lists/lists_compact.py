"""Block lists by one pass over sorted picks: each new block goes to the place that a running sum gives.

No sort at all, and lists only as wide as the longest one; that width is read on the host, which
waits for the device (`trim` false keeps the widest possible: no wait, and a graph can be captured).
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
        # repetitions write what stands there already
        blocks.scatter_(-1, place - 1, read)
        return {"blocks": split_large_blocks(w, blocks), "counts": counts * parts}

    return lists
