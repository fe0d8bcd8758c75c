"""Sparse attention end to end: the indexer's scores, `lax.top_k`, the mask of it, attention under the mask.

MaxText's path of DeepSeek's sparse attention, as one program: what the mask costs beside the rest, and
whether the compiler joins it to what follows, shows here alone. `mask` is how it is made: `broadcast`
as before MaxText #4261, `scatter` as there. All columns are attended and most are closed again.
"""

from harness import implementation

from ..workload import TopkWorkload
from ._attention_jax import Mask, masked_attention
from ._indexer_jax import index_scores


@implementation(framework="jax", semantics="attention")
def attention_exact(w: TopkWorkload, *, mask: Mask = "scatter"):
    from jax import lax

    attend = masked_attention(w, mask)

    def sparse(queries, keys, weights, q, k, v):
        values, columns = lax.top_k(index_scores(w, queries, keys, weights), w.topk)
        return attend(columns, q, k, v), values, columns

    return sparse
