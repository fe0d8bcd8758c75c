"""Two stages in Triton, and exact: of the k largest of every slice of a row, the k largest are the row's.

Both stages are the kernel of `triton_radix_select`. It differs where there are few rows: slices occupy as
many more multiprocessors, and the second stage reads k of each. (`two_stage` keeps less of each bucket than
k, and its recall is chance.) A row that `columns` does not divide twice is one slice, and has one stage.
"""

from harness import Unsupported, implementation, stage

from ..workload import TopkWorkload
from .triton_radix_select import BITS, BLOCK, WARPS


@implementation(framework="triton", semantics="exact")
def triton_two_stage(w: TopkWorkload, *, columns: int = 16384):
    size = _even(w, columns)
    slices = -(-w.seq // size)

    import torch

    from ._triton_radix import select as kernel

    def select(scores):
        scores = scores.contiguous()

        def pairs(count):
            shape = (w.batch, w.rows, count)
            return (
                torch.empty(shape, dtype=scores.dtype, device=scores.device),
                torch.empty(shape, dtype=torch.int32, device=scores.device),
            )

        values, indices = pairs(slices * w.topk)
        with stage("select"):
            kernel[(w.batch * w.rows, slices)](
                scores, indices, values, indices, w.seq, size, w.topk, BITS[w.dtype], False, BLOCK,
                num_warps=WARPS,
            )  # fmt: skip
            if slices == 1:
                return values, indices
            best = pairs(w.topk)
            kept = slices * w.topk
            kernel[(w.batch * w.rows, 1)](
                values, indices, *best, kept, kept, w.topk, BITS[w.dtype], True, BLOCK, num_warps=WARPS
            )
        return best

    return select


def _even(w: TopkWorkload, columns: int) -> int:
    """The size of equal slices of about so many columns; the last is shorter, and still has topk."""
    least = 2 * w.topk
    if columns < least:
        raise Unsupported(
            f"of {columns} columns it would keep {w.topk}, and gain nothing; use {least} or more"
        )
    slices = max(1, w.seq // columns)
    while w.seq - (slices - 1) * -(-w.seq // slices) < w.topk:
        slices -= 1
    return -(-w.seq // slices)
