"""`nsa_mslk_sparse_compressed` that computes scores twice: for its blocks, and for its groups of means.

MSLK #296 did this before its shared selector, which uses one product for both. If no groups are selected
there is one selection, and this is `nsa_mslk`.
"""

from harness import implementation

from ..workload import AttentionWorkload
from ._torch import Form, attention


@implementation(framework="torch", semantics="nsa_mslk_sparse_compressed")
def nsa_mslk_unshared(w: AttentionWorkload):
    return attention(w, Form(sparse_compressed=True, share=False))
