"""fla's form in the Triton kernels of `triton_nsa_paper`, with means of whole blocks, without fla's code."""

from harness import implementation

from .._references.paper import lengths, refuse_paper
from ..workload import AttentionWorkload


@implementation(framework="triton", semantics="nsa_fla")
def triton_nsa_fla(w: AttentionWorkload, *, fused: bool = True, atomic: bool = False):
    refuse_paper(w, fla=True)

    from .._triton_sparse.function import paper_form

    return paper_form(w, *lengths(w, fla=True), fused=fused, atomic=atomic)
