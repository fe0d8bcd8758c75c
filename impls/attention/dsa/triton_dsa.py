"""DeepSeek sparse attention in Triton: no scores in memory, and picked keys are read in place.

A program scores all keys of one query, with an indexer's heads as rows, and keeps the highest scores seen so
far. Another reads the picked keys and values for the query heads of a key head. The backward sums keys'
gradients by transposed lists of seq × topk, in one order, or atomically.
"""

from harness import implementation

from .._references.dsa import refuse_dsa
from ..workload import AttentionWorkload


@implementation(framework="triton", semantics="dsa")
def triton_dsa(w: AttentionWorkload, *, atomic: bool = False):
    refuse_dsa(w)

    from .._triton_sparse.function import dsa_form

    return dsa_form(w, atomic=atomic)
