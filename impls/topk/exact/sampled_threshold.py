"""Sampled threshold: estimate it from a sample of the row, compact scores that reach it, finish exactly.

The threshold is a low order statistic of the sample: with randomly placed scores, fewer than two in a
thousand rows have less than k scores above it. For these rows the whole row is used, so the answer is exact
whatever the sample was. The cost is one comparison per score and a selection among about twice k. Ties at the
threshold, and a mask's −inf, add candidates and time. A NaN reaches no threshold: it is skipped unless its
whole row is used. The idea is Floyd and Rivest's SELECT (Communications of the ACM 18(3), 1975). The sampled
places are drawn once, with a fixed seed.
"""

from itertools import pairwise

from harness import Unsupported, implementation, stage

from ..workload import TopkWorkload
from ._sample_threshold import RUN, guess, positions

AT_ONCE = 1 << 19  # scores: their mask and candidates stay in the cache, and their memory is reused


@implementation(framework="numpy", semantics="exact")
def sampled_threshold(w: TopkWorkload, *, sample: int = 1024):
    import numpy as np

    if sample < RUN:
        raise Unsupported(f"a sample of {sample} is less than a run of {RUN} neighbours; use at least {RUN}")
    n, k, rows = w.seq, w.topk, w.batch * w.rows
    threshold = guess(n, k, sample)
    block = max(1, min(rows, AT_ONCE // n))
    masks = np.empty((block, n), np.bool_)
    edges = np.arange(block + 1) * n

    def candidates(keys):
        """Flat positions in `keys`, and where those of each row begin and end: at least k per row."""
        above = masks[: len(keys)]
        with stage("sample"):
            cutoff = threshold(keys)
        with stage("compare"):
            np.greater_equal(keys, cutoff, out=above)
        with stage("compact"):
            found = positions(above)
            ends = np.searchsorted(found, edges[: len(keys) + 1])
        few = np.diff(ends) < k
        if few.any():
            above[few] = True
            found = positions(above)
            ends = np.searchsorted(found, edges[: len(keys) + 1])
        return found, ends

    def select(scores):
        flat = scores.reshape(rows, n)
        values, indices = np.empty((rows, k), scores.dtype), np.empty((rows, k), np.int32)
        for first in range(0, rows, block):
            keys = flat[first : first + block]
            if w.dtype in {"bf16", "f16"}:  # numpy compares these one by one; widening is many times faster
                keys = keys.astype(np.float32)
            found, ends = candidates(keys)
            with stage("select"):
                held = keys.reshape(-1).take(found)
                chosen = np.empty((len(keys), k), np.int64)
                for row, here in enumerate(pairwise(ends)):
                    chosen[row] = held[slice(*here)].argpartition(-k)[-k:]
                chosen += ends[:-1, None]
            with stage("gather"):
                values[first : first + block] = held.take(chosen)
                indices[first : first + block] = found.take(chosen) - edges[: len(keys), None]
        return values.reshape(w.batch, w.rows, k), indices.reshape(w.batch, w.rows, k)

    return select
