"""`lax.approx_max_k` at the workload's recall (MaxText #4243): the operator that TPUs have for it.

Elsewhere it is lowered to a full sort or to `lax.top_k`: on CPU its recall is 1 for any target, and its time
does not predict a TPU's. Also on a TPU, the planner gives the exact result if the groups that meet the target
would have one score each, for example at seq 65536, topk 2048, recall 0.95.
"""

from harness import implementation

from .._approx_plan import plan_facts
from ..workload import TopkWorkload


@implementation(framework="jax", semantics="recall", facts=lambda w, static, _options: plan_facts(w, static))
def approx(w: TopkWorkload):
    from jax import lax

    def select(scores):
        return lax.approx_max_k(scores, w.topk, recall_target=w.recall, aggregate_to_topk=True)

    return select
