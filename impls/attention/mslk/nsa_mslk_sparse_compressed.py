"""MSLK's native sparse attention that reads only some block means, so that no branch grows as N².

It reads the 16 groups of 128 block means with the highest mean score (`num_cmp_selected_blocks` in #296).
With 16 groups or fewer, this is `nsa_mslk`, operation for operation.
"""

from harness import implementation

from ..workload import AttentionWorkload
from ._torch import Form, attention


@implementation(framework="torch", semantics="nsa_mslk_sparse_compressed")
def nsa_mslk_sparse_compressed(w: AttentionWorkload):
    return attention(w, Form(sparse_compressed=True))
