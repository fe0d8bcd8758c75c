"""Two exact stages in Triton: the k largest of every slice of a row, then the k largest of those.

Both stages use the kernels of `triton_radix_select`, which occupy all multiprocessors without slices. So this
shows what a second stage costs. (`two_stage` keeps fewer than k per bucket, and its recall depends on
chance.) A row with fewer than two slices of `columns` has one slice and one stage.
"""

from harness import Unsupported, implementation, stage

from ..workload import TopkWorkload
from .triton_radix_select import select_largest


@implementation(framework="triton", semantics="exact")
def triton_two_stage(w: TopkWorkload, *, columns: int = 16384):
    size = _even(w, columns)
    slices = -(-w.seq // size)

    def select(scores):
        with stage("select"):
            values, indices = select_largest(w, scores.contiguous(), size)
            if slices == 1:
                return values, indices
            return select_largest(w, values, slices * w.topk, indices)

    return select


def _even(w: TopkWorkload, columns: int) -> int:
    """Size of equal slices of about this many columns; the last is shorter, but has at least topk columns."""
    least = 2 * w.topk
    if columns < least:
        raise Unsupported(f"slices of {columns} columns that keep {w.topk} save nothing; use {least} or more")
    slices = max(1, w.seq // columns)
    while w.seq - (slices - 1) * -(-w.seq // slices) < w.topk:
        slices -= 1
    return -(-w.seq // slices)
