"""The mask and what it is for: scatter it, add it to dense logits, and attend (semantics `attended`).

What gather_kv does without: rows · seq logits, most of them closed again. MaxText's and V3.2-Exp's
prefill go this way. Duplicates and indices outside the row are as scatter has them.
"""

from harness import implementation

from ._masked_attention import need_head, products, softmax
from .scatter import scatter
from .workload import MaskWorkload


@implementation(framework="jax", semantics="attended")
def masked_dense(w: MaskWorkload):
    need_head(w)
    einsum = products(w)
    make = scatter(w)

    def attend(topk_indices, queries, keys, values):
        weights = softmax(w, einsum("btd,bsd->bts", queries, keys), make(topk_indices))
        return einsum("bts,bsd->btd", weights, values).astype(values.dtype)

    return attend
