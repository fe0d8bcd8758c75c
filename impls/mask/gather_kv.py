"""Without a mask: gather the selected keys and values and attend only to those (semantics `attended`).

Softmax gives a closed column zero weight, so leaving it out changes only the order of the sums. Work and
memory are proportional to rows · topk · head_dim instead of rows · seq, but every query gathers its own keys
and values. A duplicate index would count twice, whereas a mask opens a column once; a selection has no
duplicates. An index from −seq to −1 counts from the row's end; any other index outside the row gathers NaN.
"""

from harness import implementation

from ._masked_attention import need_head, products, softmax
from .workload import MaskWorkload


@implementation(framework="jax", semantics="attended")
def gather_kv(w: MaskWorkload):
    import jax

    need_head(w)
    einsum = products(w)
    take = jax.vmap(lambda memory, chosen: memory.at[chosen].get(mode="fill"))

    def attend(topk_indices, queries, keys, values):
        logits = einsum("btd,btkd->btk", queries, take(keys, topk_indices))
        out = einsum("btk,btkd->btd", softmax(w, logits), take(values, topk_indices))
        return out.astype(values.dtype)

    return attend
