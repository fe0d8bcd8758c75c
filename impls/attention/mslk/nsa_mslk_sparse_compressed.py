"""MSLK's native sparse attention that reads only some block means, so that no branch grows as N².

Of groups of 128 block means the 16 of highest mean score are read (`num_cmp_selected_blocks` in #296). If
there are no more groups than that, this is `nsa_mslk`, operation for operation.
"""

from harness import implementation

from ..workload import AttentionWorkload
from ._torch import Form, attention


@implementation(framework="torch", semantics="nsa_mslk_sparse_compressed")
def nsa_mslk_sparse_compressed(w: AttentionWorkload):
    return attention(w, Form(sparse_compressed=True))
