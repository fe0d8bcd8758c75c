"""`nsa_mslk` (MSLK #296) in Triton kernels: blocks are read in place, without copies or masks in memory.

Kernels compute means, selection, and the three branches with their gates. `fused` computes the branches in
one launch, otherwise each has its own and the gated sum another. Selection runs in parallel over chunks of
blocks: each program keeps its highest scores, and the last to arrive merges them. Every query head selects
its own blocks, so a program of the branches has one head's queries. The backward sums keys' gradients by
transposed lists, in one order, or with `atomic` additions. f32 products are IEEE's, without tensor cores.
"""

from harness import implementation

from .._references.attention import refuse
from ..workload import AttentionWorkload


@implementation(framework="triton", semantics="nsa_mslk")
def triton_nsa(w: AttentionWorkload, *, fused: bool = True, atomic: bool = False):
    refuse(w)

    from .._triton_sparse.function import mslk_form

    return mslk_form(w, fused=fused, atomic=atomic)
