"""Radix select in Triton: a program per row counts digits of eight bits, finds the k-th key, and gathers.

It reads the row once per byte and once more, the later times from L2 if all rows in flight fit it. Like
`radix` it continues with the one bin that has the k-th key, but does not move that bin's keys together. With
fewer rows than multiprocessors some are idle: `triton_two_stage` splits rows.
"""

from harness import implementation, stage

from ..workload import TopkWorkload

BLOCK, WARPS = 2048, 8
BITS = {"f64": 64, "f32": 32, "bf16": 16, "f16": 16}


@implementation(framework="triton", semantics="exact")
def triton_radix_select(w: TopkWorkload):
    import torch

    from ._triton_radix import select as kernel

    def select(scores):
        scores = scores.contiguous()
        shape = (w.batch, w.rows, w.topk)
        values = torch.empty(shape, dtype=scores.dtype, device=scores.device)
        indices = torch.empty(shape, dtype=torch.int32, device=scores.device)
        with stage("select"):
            kernel[(w.batch * w.rows, 1)](
                scores, indices, values, indices, w.seq, w.seq, w.topk, BITS[w.dtype], False, BLOCK,
                num_warps=WARPS,
            )  # fmt: skip
        return values, indices

    return select
