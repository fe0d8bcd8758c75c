"""Sparse attention end to end: the indexer's scores, `lax.top_k`, its mask, attention with the mask.

MaxText's path for DeepSeek's sparse attention, in one program. Only this shows what the mask costs relative
to the rest, and whether the compiler fuses it with what follows. Option `mask` is how the mask is made:
`broadcast` as before MaxText #4261, `scatter` as in #4261. All columns are attended to, and the mask closes
most of them.
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
