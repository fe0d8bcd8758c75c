"""Block lists by scatter, sum and sort: count how often each block is picked, then sort the whole table.

Like `lists_dense` it has a table of all tiles and blocks, here of numbers. A stable sort brings the blocks
that are picked at least once to the front, in their order (MSLK #296, an early step).
"""

from harness import implementation

from .._stage import in_stage
from .._stage_inputs import width
from ..workload import KERNEL_BLOCK, AttentionWorkload
from ._kernel_blocks import kernel_blocks


@implementation(framework="torch", semantics="block_lists")
def lists_scatter_sort(w: AttentionWorkload):
    import torch

    in_stage(w, "block_lists")

    def lists(picks):
        read = kernel_blocks(w, picks).long()
        times = torch.zeros(
            *picks.shape[:-1], -(-w.seq // KERNEL_BLOCK), dtype=torch.int32, device=picks.device
        )
        times.scatter_add_(-1, read, torch.ones_like(read, dtype=torch.int32))
        order = torch.sort((times == 0).to(torch.uint8), dim=-1, stable=True).indices
        counts = (times > 0).sum(-1, dtype=torch.int32)
        return {"blocks": order[..., : width(w)].int(), "counts": counts}

    return lists
