"""`nsa_mslk` (MSLK #296) in Triton kernels: blocks are read in place, without copies or masks in memory.

One kernel per pass: means, mean queries, selection, which keeps only the highest scores seen so far, and the
three branches with their gates (`fused`), or each branch and the gated sum separately. Every query head picks
for itself, so a program has one head's queries. The backward sums keys' gradients by transposed lists, in one
order, or atomically. In f32 products are IEEE's, by the general arithmetic units.
"""

from harness import implementation

from .._references.attention import refuse
from ..workload import AttentionWorkload


@implementation(framework="triton", semantics="nsa_mslk")
def triton_nsa(w: AttentionWorkload, *, fused: bool = True, atomic: bool = False):
    refuse(w)

    from .._triton_sparse.function import mslk_form

    return mslk_form(w, fused=fused, atomic=atomic)
