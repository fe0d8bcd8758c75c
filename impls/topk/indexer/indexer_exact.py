"""The indexer's scores, then `lax.top_k` of every row.

The scores stand in memory, [batch, rows, seq] in f32, made head by head in a loop. A TPU's compiler makes
`lax.top_k` a full sort of them. Over several devices each has its rows and, once gathered, all keys.
"""

from harness import implementation

from ..workload import TopkWorkload
from ._indexer_jax import index_scores


@implementation(framework="jax", semantics="indexer")
def indexer_exact(w: TopkWorkload):
    from jax import lax

    def select(queries, keys, weights):
        return lax.top_k(index_scores(w, queries, keys, weights), w.topk)

    return select
