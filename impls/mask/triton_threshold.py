"""Threshold in one Triton kernel: open a column if its score is at least the smallest selected score.

Reads the scores once, writes the mask once and reads no indices. More than `topk` columns are open if scores
tie at the cutoff, as in `threshold_raw`.
"""

from harness import implementation

from .reference import closed_value
from .workload import MaskWorkload

BLOCK = 4096


@implementation(framework="triton", semantics="threshold")
def triton_threshold(w: MaskWorkload):
    import torch

    from ._triton_threshold import compare_and_fill

    closed = float(closed_value(w.dtype))

    def mask(scores, topk_values):
        out = torch.empty_like(scores)
        grid = (w.batch * w.rows, -(-w.seq // BLOCK))
        compare_and_fill[grid](
            scores, topk_values, out, w.seq, topk_values.shape[-1], closed, BLOCK, num_warps=8
        )
        return out

    return mask
