"""Sparse attention with an approximate selection: otherwise like `attention_exact` (MaxText #4243).

Option `select` is the pull request's operator, `lax.approx_max_k`, which approximates only on a TPU, or
`two_stage` with 4096 buckets of 2, which approximates everywhere. The selection is returned with the result:
its recall is judged, and the share of the true selection's attention that it keeps is reported.
"""

from typing import Literal

from harness import implementation

from .._approx_plan import plan_facts
from ..approximate.approx import approx
from ..approximate.two_stage import two_stage
from ..workload import TopkWorkload
from ._attention_jax import Mask, masked_attention
from ._indexer_jax import index_scores


@implementation(
    framework="jax",
    semantics="attention_recall",
    facts=lambda w, static, options: plan_facts(w, static) if options["select"] == "approx_max_k" else {},
)
def attention_approx(
    w: TopkWorkload,
    *,
    select: Literal["approx_max_k", "two_stage"] = "approx_max_k",
    mask: Mask = "scatter",
):
    attend = masked_attention(w, mask)
    largest = approx(w) if select == "approx_max_k" else two_stage(w)

    def sparse(queries, keys, weights, q, k, v):
        values, columns = largest(scores=index_scores(w, queries, keys, weights))
        return attend(columns, q, k, v), values, columns

    return sparse
