"""Sort and slice: the whole row in order, with its columns, and the end of it (`lax.sort`, stable).

The plainest exact answer, O(n log n) whatever k is. It is what `lax.top_k` and, at recall 1,
`lax.approx_max_k` become on a TPU (MaxText #4243); equal scores come in the order of their index.
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
