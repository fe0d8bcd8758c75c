"""The indexer's scores, then `lax.top_k` of every row.

The scores are stored in memory, [batch, rows, seq] in f32, computed head by head in a loop. A TPU's compiler
turns `lax.top_k` into a full sort of them. With several devices, each has its rows and, after a gather, all
keys.
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
