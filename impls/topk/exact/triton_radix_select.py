"""Radix select in Triton: several programs a row count bins, then find the bin of the k-th score and gather.

Two launches read the row twice; the second time is from L2 if all rows in flight fit it. The last program of a
row selects among the scores of that bin.
"""

from typing import Any

from harness import implementation, stage

from ..workload import TopkWorkload

BLOCK, WARPS = 4096, 16
PROGRAMS = 1024  # 132 multiprocessors with 4 programs each, twice
FORMATS = {"f64": (64, 50), "f32": (32, 21), "bf16": (16, 5), "f16": (16, 8)}  # bits, and those below a bin


@implementation(framework="triton", semantics="exact")
def triton_radix_select(w: TopkWorkload):
    def select(scores):
        with stage("select"):
            return select_largest(w, scores.contiguous(), w.seq)

    return select


def select_largest(w: TopkWorkload, scores: Any, size: int, origins: Any = None) -> tuple[Any, Any]:
    """Values and indices of the topk largest of every `size` scores of a row, [batch, rows, slices · topk]."""
    import torch

    from ._triton_radix import count, select

    rows, seq = w.batch * w.rows, scores.shape[-1]
    slices = -(-seq // size)
    lines = rows * slices
    parts = min(-(-size // BLOCK), -(-PROGRAMS // lines))
    part_size = -(-size // (parts * BLOCK)) * BLOCK
    parts = -(-size // part_size)

    def empty(*shape, dtype=torch.int32):
        return torch.empty(shape, dtype=dtype, device=scores.device)

    kept = (w.batch, w.rows, slices * w.topk)
    values, indices = empty(*kept, dtype=scores.dtype), empty(*kept)
    counts, arrived = empty(lines, parts, 256), empty(lines)
    bounds = empty(lines, parts, 2, dtype=torch.int64)
    room = -(-size // 2)
    lists = empty(lines, w.topk + room)
    grid, form = (rows, slices, parts), FORMATS[w.dtype]
    count[grid](scores, counts, arrived, seq, size, part_size, form, BLOCK, num_warps=WARPS)
    select[grid](
        scores, indices if origins is None else origins, values, indices, counts, arrived, bounds, lists,
        seq, size, part_size, w.topk, room, form, origins is not None, BLOCK, num_warps=WARPS,
    )  # fmt: skip
    return values, indices
