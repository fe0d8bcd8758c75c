"""`nsa_mslk_sparse_compressed` that scores blocks twice, for its blocks and again for its groups of means.

As MSLK #296 had it before the shared selector, which takes both from one product. Where no groups are
selected there is one selection, and this is `nsa_mslk`.
"""

from harness import implementation

from ..workload import AttentionWorkload
from ._torch import Form, attention


@implementation(framework="torch", semantics="nsa_mslk_sparse_compressed")
def nsa_mslk_unshared(w: AttentionWorkload):
    return attention(w, Form(sparse_compressed=True, share=False))
