"""DeepSeek sparse attention in Triton: no scores in memory, and picked keys are read in place.

A program of the indexer scores all tokens for one query and keeps the highest scores. Tokens are the rows of
its products, because Hopper's matrix units need 64. A program of the attention reads the picked keys and
values for the query heads of a key head, also by transposed scores. The backward sums keys' gradients by
transposed lists of seq × topk, in one order, or with `atomic` additions.
"""

from harness import implementation

from .._references.dsa import refuse_dsa
from ..workload import AttentionWorkload


@implementation(framework="triton", semantics="dsa")
def triton_dsa(w: AttentionWorkload, *, atomic: bool = False):
    refuse_dsa(w)

    from .._triton_sparse.function import dsa_form

    return dsa_form(w, atomic=atomic)
