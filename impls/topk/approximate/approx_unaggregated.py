"""`lax.approx_max_k(aggregate_to_topk=False)`, cut down to k by `lax.top_k` (MaxText #4243's operator).

Without aggregation the operator ends after its first stage. It returns the best of each group, at least k of
them (2048 at seq 8192, topk 64, recall 0.95; all 65536 at seq 65536, topk 2048), and on a TPU unordered. The
caller then reduces them to k, which is timed here. On CPU it returns the same number of scores, but those are
the row's largest, by a sort or a top-k: the recall is 1 for any target.
"""

from harness import implementation

from .._approx_plan import plan_facts
from ..workload import TopkWorkload


@implementation(framework="jax", semantics="recall", facts=lambda w, static, _options: plan_facts(w, static))
def approx_unaggregated(w: TopkWorkload):
    import jax.numpy as jnp
    from jax import lax

    def select(scores):
        candidates, columns = lax.approx_max_k(
            scores, w.topk, recall_target=w.recall, aggregate_to_topk=False
        )
        values, places = lax.top_k(candidates, w.topk)
        return values, jnp.take_along_axis(columns, places, axis=-1)

    return select
