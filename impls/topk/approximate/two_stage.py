"""Two stages: the best `keep` of every interleaved bucket, then top-k of those (arXiv 2506.04165).

The same program runs on every device. Its recall is that of random placement: options that promise less than
the workload's recall are refused. Column j is in bucket j mod `buckets`, so a run of large neighbours is
spread over the buckets. Peaks with a period that divides `buckets` share a few buckets, and most of them are
lost.
"""

from typing import Any

from harness import Unsupported, implementation

from .._expected_recall import expected_recall
from ..workload import TopkWorkload

MOST_KEPT = 16  # of a bucket; beyond this, inserting one by one is slower than sorting

# Insertions per bucket up to which unrolled code compiles in half a second. Beyond it there is a loop, whose
# body XLA's figures count once.
UNROLLED = 128


def _facts(w: TopkWorkload, _static: Any, options: Any) -> dict[str, float]:
    return {"expected_recall": expected_recall(w.seq, w.topk, options["buckets"], options["keep"])}


@implementation(framework="jax", semantics="recall", facts=_facts)
def two_stage(w: TopkWorkload, *, buckets: int = 4096, keep: int = 2):
    import jax.numpy as jnp
    import numpy as np
    from jax import lax

    _refuse(w, buckets, keep)
    size = w.seq // buckets

    def insert(best, value, column):
        """Push one value per bucket into its descending list; returns one more entry than `best` has."""
        longer = []
        for held, where in best:
            above = value > held
            longer.append((jnp.where(above, value, held), jnp.where(above, column, where)))
            value, column = jnp.where(above, held, value), jnp.where(above, where, column)
        return [*longer, (value, column)]

    def select(scores):
        grid = scores.reshape(w.batch, w.rows, size, buckets)
        first = jnp.arange(buckets, dtype=jnp.int32)

        def take(step, best):
            value = lax.dynamic_index_in_dim(grid, step, axis=2, keepdims=False)
            return insert(best, value, jnp.broadcast_to(first + step * buckets, value.shape))

        # Starting with real entries, and moving none on a tie, keeps columns distinct even among −inf.
        best = []
        for step in range(keep):
            best = take(np.int32(step), best)
        best = lax.fori_loop(
            np.int32(keep),
            np.int32(size),
            lambda step, best: take(step, best)[:keep],
            best,
            unroll=keep * size <= UNROLLED,
        )
        candidates, columns = (jnp.concatenate(part, axis=-1) for part in zip(*best, strict=True))
        values, chosen = lax.top_k(candidates, w.topk)
        return values, jnp.take_along_axis(columns, chosen, axis=-1)

    return select


def _refuse(w: TopkWorkload, buckets: int, keep: int) -> None:
    if buckets < 1 or keep < 1:
        raise Unsupported(f"{buckets} buckets of {keep} are empty; use at least one of each")
    if keep > MOST_KEPT:
        raise Unsupported(f"keep {keep} is more than {MOST_KEPT}; use more buckets and a smaller keep")
    if w.seq % buckets:
        raise Unsupported(f"seq {w.seq} does not divide into {buckets} buckets; use a divisor")
    size = w.seq // buckets
    if keep > size:
        raise Unsupported(f"a bucket has {size} scores, fewer than keep {keep}; use fewer buckets")
    if buckets * keep < w.topk:
        raise Unsupported(f"{buckets} buckets of {keep} have fewer than topk {w.topk} scores; use more")
    promised = expected_recall(w.seq, w.topk, buckets, keep)
    if promised < w.recall:
        raise Unsupported(
            f"{buckets} buckets of {keep} promise recall {promised:.3f}, below {w.recall:g}; use more buckets"
        )
