"""Fill and scatter in one Triton kernel: the same program closes and opens a block of a row.

The mask is written once, while torch's `full` and `scatter_` write it once and the selected lines again.
Every program reads all indices of its row: for blocks of 8 192 columns a quarter of what it writes. An index
outside [0, seq), also a negative one, is dropped.
"""

from harness import implementation

from .reference import closed_value
from .workload import MaskWorkload

BLOCK, CHUNK = 8192, 1024


@implementation(framework="triton", semantics="exact")
def triton_scatter(w: MaskWorkload):
    import torch

    from ._triton_scatter import fill_and_scatter

    dtype = {"f64": torch.float64, "f32": torch.float32, "bf16": torch.bfloat16}[w.dtype]
    closed = float(closed_value(w.dtype))

    def mask(topk_indices):
        out = torch.empty((w.batch, w.rows, w.seq), dtype=dtype, device=topk_indices.device)
        grid = (w.batch * w.rows, -(-w.seq // BLOCK))
        fill_and_scatter[grid](
            topk_indices, out, w.seq, topk_indices.shape[-1], closed, BLOCK, CHUNK, num_warps=8
        )
        return out

    return mask
