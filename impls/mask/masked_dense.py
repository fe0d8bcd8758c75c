"""The mask and its use: scatter it, add it to dense logits, and attend (semantics `attended`).

Unlike gather_kv it computes rows · seq logits, most of which the mask closes. MaxText's and V3.2-Exp's
prefill do this. Duplicates and indices outside the row behave as in scatter.
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
