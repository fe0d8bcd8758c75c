"""Context parallelism: the k largest of every shard with their global columns, gathered, then the k largest.

This is needed for an exact answer if a sequence is split over devices; MaxText #4243 is about scores split
like that. Only k values and columns of each shard are communicated. Here the shards are a dimension on one
device, so the arithmetic is that of all shards, and communication is not timed. Exact, and equal scores are
ordered as in `lax.top_k`.
"""

from harness import Unsupported, implementation

from ..workload import TopkWorkload


@implementation(framework="jax", semantics="exact")
def sharded(w: TopkWorkload, *, shards: int = 8):
    import jax.numpy as jnp
    from jax import lax

    if shards < 1 or w.seq % shards:
        raise Unsupported(f"seq {w.seq} does not divide into {shards} shards; use a divisor")
    size = w.seq // shards

    def select(scores):
        values, columns = lax.top_k(scores.reshape(w.batch, w.rows, shards, size), min(w.topk, size))
        columns += size * jnp.arange(shards, dtype=columns.dtype)[:, None]
        values, columns = (part.reshape(w.batch, w.rows, -1) for part in (values, columns))
        values, places = lax.top_k(values, w.topk)
        return values, jnp.take_along_axis(columns, places, axis=-1)

    return select
