"""The indexer's scores, then `lax.approx_max_k` of every row at the workload's recall (MaxText #4243).

This is what the pull request runs: under context parallelism a device has some rows of scores and all their
columns, so the operator plans for the whole row. The scores are computed as in `indexer_exact`. The operator
is exact off a TPU, and also on a TPU if no group would have two scores.
"""

from harness import implementation

from .._approx_plan import plan_facts
from ..workload import TopkWorkload
from ._indexer_jax import index_scores


@implementation(
    framework="jax", semantics="indexer_recall", facts=lambda w, static, _options: plan_facts(w, static)
)
def indexer_approx(w: TopkWorkload):
    from jax import lax

    def select(queries, keys, weights):
        scores = index_scores(w, queries, keys, weights)
        return lax.approx_max_k(scores, w.topk, recall_target=w.recall, aggregate_to_topk=True)

    return select
