"""Block lists by sorting twice: repetitions, adjacent after the first sort, move to the end in the second.

Memory and work grow with the picks, not the sequence: nothing has a row per tile and block (MSLK #296, which
replaces the dense table by this).
"""

from harness import implementation

from .._stage import in_stage
from .._stage_inputs import width
from ..workload import KERNEL_BLOCK, AttentionWorkload
from ._kernel_blocks import kernel_blocks


@implementation(framework="torch", semantics="block_lists")
def lists_dedup(w: AttentionWorkload):
    import torch

    in_stage(w, "block_lists")
    none = -(-w.seq // KERNEL_BLOCK)

    def lists(picks):
        ordered = kernel_blocks(w, picks).sort(-1).values
        again = torch.nn.functional.pad(ordered[..., 1:] == ordered[..., :-1], (1, 0))
        blocks = ordered.masked_fill(again, none).sort(-1).values[..., : width(w)]
        return {"blocks": blocks, "counts": (~again).sum(-1, dtype=torch.int32)}

    return lists
