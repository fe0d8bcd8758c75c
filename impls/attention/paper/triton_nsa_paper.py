"""`nsa_paper` (arXiv 2502.11089) in Triton: the query heads of a key head share a tile and its picks.

Blocks are read in place, and selection keeps only the highest scores seen so far. The probabilities are
computed twice: once for their sums, once for the blocks' scores. The last pass also adds the gated branches
(`fused`), or a separate pass does. The backward sums keys' gradients by transposed lists, in one order, or
atomically. In f32 products are IEEE's, by the general arithmetic units.
"""

from harness import implementation

from .._references.paper import lengths, refuse_paper
from ..workload import AttentionWorkload


@implementation(framework="triton", semantics="nsa_paper")
def triton_nsa_paper(w: AttentionWorkload, *, fused: bool = True, atomic: bool = False):
    refuse_paper(w)

    from .._triton_sparse.function import paper_form

    return paper_form(w, *lengths(w, fla=False), fused=fused, atomic=atomic)
