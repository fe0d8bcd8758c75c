"""`nsa_paper` (arXiv 2502.11089) in Triton: the query heads of a key head share a tile and its picks.

Blocks are read in place. In half precision the scores of one query's heads are transposed, because Hopper's
matrix units need 64 rows. Selection runs in parallel over chunks of blocks: each program keeps its highest
scores, and the last to arrive merges them. The probabilities are computed twice: for their sums, and for the
blocks' scores. The last branch also adds the others (`fused`), or a separate launch does. The backward sums
keys' gradients by transposed lists, in one order, or with `atomic` additions. f32 products are IEEE's,
without tensor cores.
"""

from harness import implementation

from .._references.paper import lengths, refuse_paper
from ..workload import AttentionWorkload


@implementation(framework="triton", semantics="nsa_paper")
def triton_nsa_paper(w: AttentionWorkload, *, fused: bool = True, atomic: bool = False):
    refuse_paper(w)

    from .._triton_sparse.function import paper_form

    return paper_form(w, *lengths(w, fla=False), fused=fused, atomic=atomic)
