"""Transposed lists by a table: one boolean for every tile and block, read along the other axis.

A backward goes through blocks of keys, and needs the tiles that read each (MSLK #296, before it was replaced:
~10 GiB at a million tokens, as attendance, its transpose and the numbers that are ranked).
"""

from harness import implementation

from .._stage import in_stage
from ..workload import KERNEL_BLOCK, AttentionWorkload


@implementation(framework="torch", semantics="transposed_lists")
def lists_transposed_dense(w: AttentionWorkload):
    import torch

    in_stage(w, "transposed_lists")
    count = -(-w.seq // KERNEL_BLOCK)

    def transpose(blocks, counts):
        behind = torch.arange(blocks.shape[-1], device=blocks.device) >= counts[..., None]
        read = blocks.masked_fill(behind, count).long()
        attended = torch.zeros(*blocks.shape[:-1], count + 1, dtype=torch.bool, device=blocks.device)
        readers = attended.scatter_(-1, read, value=True)[..., :count].transpose(-1, -2)
        order = torch.sort((~readers).to(torch.uint8), dim=-1, stable=True).indices
        return {"tiles": order.int(), "counts": readers.sum(-1, dtype=torch.int32)}

    return transpose
