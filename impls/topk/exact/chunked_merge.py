"""Blocks and a merge tree: the k largest of each block, then of each pair of neighbours, down to one list.

Exact for any block size, since a score that is not among the k largest of a block is not among those of the
row. A block with fewer than k scores keeps all of them. Small sorts replace one long sort, at the cost of
carrying k candidates per list. Merge-based selections on GPUs work like this (Faiss's k-selection, arXiv
1702.08734, merges per-thread queues). Equal scores are ordered as in `lax.top_k`.
"""

from harness import Unsupported, implementation

from ..workload import TopkWorkload


@implementation(framework="jax", semantics="exact")
def chunked_merge(w: TopkWorkload, *, blocks: int = 16):
    import jax.numpy as jnp
    from jax import lax

    if blocks < 1 or blocks & (blocks - 1):
        raise Unsupported(f"{blocks} blocks cannot be merged in pairs; use a power of two")
    if w.seq % blocks:
        raise Unsupported(f"seq {w.seq} does not divide into {blocks} blocks; use fewer")

    def best(values, columns):
        kept, places = lax.top_k(values, min(w.topk, values.shape[-1]))
        return kept, jnp.take_along_axis(columns, places, axis=-1)

    def select(scores):
        columns = lax.broadcasted_iota(jnp.int32, scores.shape, 2)
        lists = blocks
        values, columns = (part.reshape(w.batch, w.rows, lists, -1) for part in (scores, columns))
        values, columns = best(values, columns)
        while lists > 1:
            lists //= 2
            values, columns = (part.reshape(w.batch, w.rows, lists, -1) for part in (values, columns))
            values, columns = best(values, columns)
        return values[:, :, 0], columns[:, :, 0]

    return select
