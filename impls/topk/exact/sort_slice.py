"""Sort and slice: sort the whole row with its columns, and take the end (`lax.sort`, stable).

The simplest exact answer, O(n log n) for any k. `lax.top_k` and, at recall 1, `lax.approx_max_k` become this
on a TPU (MaxText #4243). Equal scores are in index order.
"""

from harness import implementation

from ..workload import TopkWorkload


@implementation(framework="jax", semantics="exact")
def sort_slice(w: TopkWorkload):
    import jax.numpy as jnp
    from jax import lax

    def select(scores):
        columns = lax.broadcasted_iota(jnp.int32, scores.shape, scores.ndim - 1)
        fallen, order = lax.sort((-scores, columns), num_keys=1, is_stable=True)
        return -fallen[..., : w.topk], order[..., : w.topk]

    return select
