"""`lax.top_k`: descending, equal scores in the order of their index."""

from harness import implementation

from ..workload import TopkWorkload


@implementation(framework="jax", semantics="exact")
def exact(w: TopkWorkload):
    from jax import lax

    def select(scores):
        return lax.top_k(scores, w.topk)

    return select
