"""Radix select in Triton: several programs per row count scores in bins, then list the highest bins' scores.

Each of the two launches reads every score once, the second time from L2 if all rows in flight fit into it.
The last program of a row to arrive then compares the scores in the bin of the k-th, by digits of eight bits.
Usually they are few. If that bin has more than half of the row, the program reads the whole row again: once
per digit in which they differ, and once more. So a score is usually read twice, and at most 7 times in f32,
11 in f64, 5 in bf16 and 4 in f16. A selected score is read once more.
"""

from typing import Any

from harness import implementation, stage

from ..workload import TopkWorkload

COUNT, COUNT_WARPS = 4096, 16  # scores that a program counts at a time
SELECT, SELECT_WARPS = 1024, 8
PROGRAMS = 1024  # enough for a launch: an H100 runs 528 of either kernel at a time
FORMATS = {"f64": (64, 50), "f32": (32, 21), "bf16": (16, 5), "f16": (16, 8)}  # bits, and those within a bin


@implementation(framework="triton", semantics="exact")
def triton_radix_select(w: TopkWorkload):
    def select(scores):
        with stage("select"):
            return select_largest(w, scores.contiguous(), w.seq)

    return select


def select_largest(w: TopkWorkload, scores: Any, size: int, origins: Any = None) -> tuple[Any, Any]:
    """The topk largest of every `size` scores of a row: values and indices, [batch, rows, slices · topk]."""
    import torch

    from ._triton_radix import count, select

    rows, seq = w.batch * w.rows, scores.shape[-1]
    slices = -(-seq // size)
    lines = rows * slices
    parts = min(-(-size // COUNT), -(-PROGRAMS // lines))
    part_size = -(-size // (parts * COUNT)) * COUNT
    parts = -(-size // part_size)

    def empty(*shape: int, dtype: Any = torch.int32):
        return torch.empty(shape, dtype=dtype, device=scores.device)

    kept = (w.batch, w.rows, slices * w.topk)
    values, indices = empty(*kept, dtype=scores.dtype), empty(*kept)
    counts, bounds = empty(lines, parts, 256), empty(lines, parts, 2, dtype=torch.int64)
    room = -(-size // 2)
    arrived, lists = empty(lines), empty(lines, w.topk + room)
    grid, form = (rows, slices, parts), FORMATS[w.dtype]
    count[grid](scores, counts, arrived, seq, size, part_size, form, COUNT, num_warps=COUNT_WARPS)
    select[grid](
        scores, indices if origins is None else origins, values, indices, counts, arrived, bounds, lists,
        seq, size, part_size, w.topk, room, form, origins is not None, SELECT, num_warps=SELECT_WARPS,
    )  # fmt: skip
    return values, indices
