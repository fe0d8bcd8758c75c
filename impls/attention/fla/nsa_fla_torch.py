"""fla's native sparse attention in plain torch: what its kernels compute, on any device.

Like `nsa_paper`, with blocks of `block` for both compression and selection, without overlap: a query's
probabilities of whole blocks select among them (flash-linear-attention, `parallel_nsa`).
"""

from harness import implementation

from ..paper._torch import attention
from ..workload import AttentionWorkload


@implementation(framework="torch", semantics="nsa_fla")
def nsa_fla_torch(w: AttentionWorkload):
    return attention(w, fla=True)
