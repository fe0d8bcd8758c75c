"""Bisection on the value: halve the range of sortable keys down to one, the k-th largest; then compact.

It takes as many steps as a key has bits, whatever the scores: each counts how many keys reach the middle.
RTop-K (arXiv 2409.00822) bisects between a row's least and largest floating-point value, and stops early if
an approximation suffices; on integer keys the same bisection ends at exactly one of them. Scores equal to the
cutoff fill up in index order. It reads the row once per bit: 32 times for f32.
"""

from harness import implementation

from ..workload import TopkWorkload
from ._sort_keys import sortable, take_above


@implementation(framework="jax", semantics="exact")
def bisection(w: TopkWorkload):
    import jax.numpy as jnp
    from jax import lax

    def select(scores):
        keys = sortable(scores)
        bits = keys.dtype.itemsize * 8
        one = jnp.array(1, keys.dtype)

        def halve(_, bounds):
            """At least k keys reach `low`; fewer reach `high` + 1, a key that may not exist."""
            low, high = bounds
            # Rounded up, since low = middle must advance; halving the sum would overflow.
            middle = low + (high - low) // 2 + ((high - low) & one)
            enough = (keys >= middle).sum(axis=-1, keepdims=True, dtype=jnp.int32) >= w.topk
            return jnp.where(enough, middle, low), jnp.where(enough, high, middle - one)

        low = jnp.zeros((*scores.shape[:-1], 1), keys.dtype)
        low, _ = lax.fori_loop(0, bits, halve, (low, ~low))
        return take_above(scores, keys, low, w.topk)

    return select
